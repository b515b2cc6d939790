// SPDX-License-Identifier: Apache-2.0
/* A server for pages only, over plain HTTP: its answers, and that bad clients do not stop it. */
#include "lib/net/http.h"
#include "lib/net/server.h"
#include "lib/prometheus.h"
#include "lib/time/clock.h"

#include "tests/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONG_PAGE = 300000 };

static struct {
    struct server *server;
    pthread_t thread;
    atomic_bool stop;
} house;

/* What a request says, and an answer with a tag and a further header. */
static struct server_page echo(const struct server_request *request) {
    static const char *const headers[] = {"x-one:", "1", "x-two:", "2", NULL};
    return (struct server_page){
        .body =
            x_printf("post %d meant %d host %s tag %s%s%.*s\n", request->is_post, request->is_meant,
                     request->host ? request->host : "-",
                     request->known_tag ? request->known_tag : "-", request->body ? " body " : "",
                     (int)request->body_size, request->body ? request->body : ""),
        .headers = headers,
        .tag = "\"abc\""};
}

static struct server_page page(void *context, const struct server_request *request) {
    const char *path = request->path;
    (void)context;
    if (strcmp(path, "/echo") == 0) {
        return echo(request);
    }
    if (strcmp(path, "/same") == 0) {
        return (struct server_page){.body = x_strdup(""), .status = 304};
    }
    if (strcmp(path, "/metrics") == 0) {
        return (struct server_page){.body = x_strdup("one 1\n"),
                                    .content_type = PROMETHEUS_CONTENT_TYPE};
    }
    if (strcmp(path, "/readyz") == 0) {
        return (struct server_page){
            .body = x_strdup("not yet\n"), .content_type = "text/plain", .status = 503};
    }
    if (strcmp(path, "/long") == 0) {
        char *body = x_malloc(LONG_PAGE + 1);
        memset(body, 'x', LONG_PAGE);
        body[LONG_PAGE] = 0;
        return (struct server_page){.body = body, .content_type = "text/plain"};
    }
    return (struct server_page){0};
}

static void *serve(void *context) {
    struct error err = {0};
    (void)context;
    while (!house.stop && server_service(house.server, 1000, &err) == 0) {
    }
    return NULL;
}

static bool takes_posts;
static size_t body_max;

static bool house_open(const char *bind) {
    static const struct server_events events = {.page = page};
    struct server_options options = {
        .bind = bind, .events = &events, .takes_posts = takes_posts, .body_max = body_max};
    struct error err = {0};
    if (server_open(&options, &house.server, &err) < 0) {
        printf("# %s\n", err.text);
        return false;
    }
    house.stop = false;
    pthread_create(&house.thread, NULL, serve, NULL);
    return true;
}

static void house_close(void) {
    house.stop = true;
    server_wake(house.server);
    pthread_join(house.thread, NULL);
    server_free(TAKE(house.server));
}

/* GET over HTTP by our own client. */
static int get(const char *path, char **ret_body) {
    struct error err = {0};
    AUTO(text_freep) char *url = x_printf("http://127.0.0.1:%d%s", server_port(house.server), path);
    struct http_request request = {.url = url, .timeout_ms = 60000, .bytes_max = 1 << 20};
    int status = 0;
    CHECK_OK(http_get(&request, &status, ret_body, &err), &err);
    return status;
}

static int dial_from(const char *source) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server_port(house.server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in own = {.sin_family = AF_INET};
    inet_pton(AF_INET, source, &own.sin_addr);
    CHECK(bind(fd, (struct sockaddr *)&own, sizeof own) == 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static int dial(void) {
    return dial_from("127.0.0.1");
}

/* Reads until the server closes or nothing comes for wait_ms; returns true if it closed. */
static bool read_all(int fd, char *text, size_t room, int wait_ms) {
    size_t used = 0;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        text[used] = 0;
        if (poll(&ready, 1, wait_ms) <= 0) {
            return false;
        }
        ssize_t got = read(fd, text + used, room - 1 - used);
        if (got <= 0) {
            return true;
        }
        used = MIN(used + (size_t)got, room - 2);
    }
}

static void test_pages_have_their_type_and_status(void) {
    CHECK(house_open("127.0.0.1:0"));
    static const struct {
        const char *path, *head, *type, *body;
    } rows[] = {
        {"/metrics", "HTTP/1.1 200", "content-type: " PROMETHEUS_CONTENT_TYPE "\r\n", "one 1\n"},
        {"/readyz", "HTTP/1.1 503", "content-type: text/plain\r\n", "not yet\n"},
        {"/nothing", "HTTP/1.1 404", "content-type: application/json\r\n", "page not found"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[4096];
        int fd = dial();
        dprintf(fd, "GET %s HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n", rows[i].path);
        read_all(fd, text, sizeof text, 500);
        CHECK(strncmp(text, rows[i].head, strlen(rows[i].head)) == 0);
        CHECK(strstr(text, rows[i].type));
        CHECK(strstr(text, rows[i].body));
        close(fd);
    }
    AUTO(text_freep) char *body = NULL;
    CHECK_INT(get("/long", &body), 200);
    CHECK_INT(strlen(body), LONG_PAGE);
    house_close();
}

/* One request; the answer is in text. */
static void ask(const char *head, char *text, size_t room) {
    int fd = dial();
    dprintf(fd, "%s", head);
    read_all(fd, text, room, 500);
    close(fd);
}

static void test_headers_tags_and_posts(void) {
    static const struct {
        bool takes_posts;
        const char *head, *sentence; /* NULL: no answer */
    } rows[] = {
        {true, "GET /echo HTTP/1.1\r\nHost: here:1\r\nIf-None-Match: \"abc\"\r\n\r\n",
         "post 0 meant 0 host here:1 tag \"abc\"\n"},
        {true, "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n",
         "etag: \"abc\"\r\nx-one: 1\r\nx-two: 2\r\n"},
        {true, "GET /same HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 304"},
        {true, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nWindlass-Action: 1\r\n\r\n",
         "post 1 meant 1 host h tag -\n"},
        {true, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "post 1 meant 0"},
        {true, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx", NULL},
        {true, "POST /echo HTTP/1.1\r\nHost: h\r\n\r\n", NULL},
        {true, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", NULL},
        {false, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[4096] = "";
        takes_posts = rows[i].takes_posts;
        CHECK(house_open("127.0.0.1:0"));
        ask(rows[i].head, text, sizeof text);
        bool is_right = rows[i].sentence ? strstr(text, rows[i].sentence) != NULL
                                         : strstr(text, "HTTP/1.1 200") == NULL;
        if (!is_right) {
            printf("# row %zu: %s\n", i, text);
        }
        CHECK(is_right);
        house_close();
    }
    takes_posts = false;
}

static void test_bodies_of_posts(void) {
    static const char head[] = "POST /echo HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x\r\n";
    static const struct {
        const char *rest, *sentence; /* NULL: no answer */
    } rows[] = {
        {"Content-Length: 4\r\n\r\nword", " tag - body word\n"},
        {"Content-Length: 8\r\n\r\n12345678", " body 12345678\n"},
        {"Content-Length: 0\r\n\r\n", " tag -\n"},
        {"Content-Length: 9\r\n\r\n123456789", NULL},
        {"Content-Length: 18446744073709551617\r\n\r\nx", NULL},
        {"Content-Length: -1\r\n\r\nx", NULL},
        {"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", NULL},
        {"Content-Length: 8\r\n\r\n1234", NULL}, /* and no more comes */
    };
    takes_posts = true;
    body_max = 8;
    CHECK(house_open("127.0.0.1:0"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[4096] = "";
        AUTO(text_freep) char *request = x_printf("%s%s", head, rows[i].rest);
        ask(request, text, sizeof text);
        bool is_right = rows[i].sentence ? strstr(text, rows[i].sentence) != NULL
                                         : strstr(text, "HTTP/1.1 200") == NULL;
        if (!is_right) {
            printf("# row %zu: %s\n", i, text);
        }
        CHECK(is_right);
    }
    /* In pieces, over a connection that stays for a second one. */
    char text[4096] = "";
    int fd = dial();
    dprintf(fd, "%sContent-Length: 4\r\n\r\nwo", head);
    read_all(fd, text, sizeof text, 100);
    dprintf(fd, "rd");
    read_all(fd, text, sizeof text, 500);
    CHECK(strstr(text, " body word\n"));
    dprintf(fd, "%sContent-Length: 3\r\n\r\ntwo", head);
    read_all(fd, text, sizeof text, 500);
    CHECK(strstr(text, " body two\n"));
    close(fd);
    house_close();
    takes_posts = false;
    body_max = 0;
}

static void test_ipv6_takes_ipv4_too(void) {
    if (!house_open("[::]:0")) {
        SKIP("this machine has no IPv6");
    }
    AUTO(text_freep) char *body = NULL;
    CHECK_INT(get("/metrics", &body), 200);
    house_close();
}

/* WebSocket upgrades, bodies and large heads are refused; the server continues. */
static void test_what_is_no_get_is_refused(void) {
    CHECK(house_open("127.0.0.1:0"));
    AUTO(text_freep) char *large = x_malloc(100001);
    memset(large, 'a', 100000);
    large[100000] = 0;
    const char *const requests[] = {
        "GET /work HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        "POST /metrics HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nhello",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", /* a client that speaks TLS */
        "GET /\r\n\r\n",
        "\r\n\r\n\r\n\r\n",
        NULL};
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        char text[4096];
        int fd = dial();
        AUTO(text_freep)
        char *request = requests[i]
                            ? x_strdup(requests[i])
                            : x_printf("GET / HTTP/1.1\r\nHost: here\r\nX: %s\r\n\r\n", large);
        ssize_t ignored = send(fd, request, strlen(request), MSG_NOSIGNAL);
        (void)ignored;
        read_all(fd, text, sizeof text, 300);
        CHECK(!strstr(text, " 101 ") && !strstr(text, "200 OK"));
        close(fd);
        AUTO(text_freep) char *body = NULL;
        CHECK_INT(get("/metrics", &body), 200);
    }
    house_close();
}

/* More clients than PREAUTH_MAX, all of them silent: they are disconnected, and a client of another
 * address, which holds fewer connections, is answered at once all the time. */
static void test_the_silent_and_the_many_are_sent_away(void) {
    enum { SILENT = 300, ASKED = 20 };
    CHECK(house_open("127.0.0.1:0"));
    int fds[SILENT];
    char text[64];
    for (size_t i = 0; i < SILENT; i++) {
        fds[i] = dial_from("127.0.0.2");
        ssize_t ignored = send(fds[i], "GET /me", i % 2 ? 7 : 0, MSG_NOSIGNAL);
        (void)ignored;
        if (i % (SILENT / ASKED) == 0) {
            AUTO(text_freep) char *body = NULL;
            CHECK_INT(get("/metrics", &body), 200);
        }
    }
    for (size_t i = 0; i < SILENT; i++) {
        CHECK(read_all(fds[i], text, sizeof text, 60000));
        close(fds[i]);
    }
    house_close();
}

/* A connection that has ended holds no place. */
static void test_places_are_given_back(void) {
    CHECK(house_open("127.0.0.1:0"));
    for (int i = 0; i < 200; i++) {
        AUTO(text_freep) char *body = NULL;
        CHECK_INT(get("/metrics", &body), 200);
    }
    house_close();
}

int main(void) {
    TEST(test_pages_have_their_type_and_status);
    TEST(test_headers_tags_and_posts);
    TEST(test_bodies_of_posts);
    TEST(test_ipv6_takes_ipv4_too);
    TEST(test_what_is_no_get_is_refused);
    TEST(test_the_silent_and_the_many_are_sent_away);
    TEST(test_places_are_given_back);
    return TEST_END();
}
