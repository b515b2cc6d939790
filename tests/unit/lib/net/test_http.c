// SPDX-License-Identifier: Apache-2.0
/* Many calls at once over real connections of this machine: to our server (TLS) and to sockets that
 * misbehave. */
#include "lib/buffer.h"
#include "lib/net/http.h"
#include "lib/net/server.h"
#include "lib/net/tls.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* The result of a call. */
struct end {
    int count, status, retry_after_s;
    bool is_sent;
    char *body, header[32]; /* the one named X-Seen */
    struct error err;
    /* what callbacks do */
    struct http *http;
    const struct http_request *next;
    struct http_call *victim;
    size_t received, received_max;
};

static void note(void *context, const struct http_answer *answer, bool is_sent,
                 const struct error *err) {
    struct end *end = context;
    end->count++;
    end->is_sent = is_sent;
    if (err) {
        end->err = *err;
    } else {
        end->status = answer->status;
        end->retry_after_s = answer->retry_after_s;
        const char *header = http_answer_header(answer, "x-seen");
        snprintf(end->header, sizeof end->header, "%s", header ? header : "(none)");
        end->body = x_strndup(answer->body, answer->size);
    }
    if (end->next) {
        struct error start_err = {0};
        CHECK_OK(http_start(end->http, end->next, NULL, &start_err), &start_err);
    }
}

static int count_received(void *context, const char *data, size_t size, struct error *err) {
    struct end *end = context;
    (void)data;
    end->received += size;
    if (end->victim) {
        http_cancel(end->http, TAKE(end->victim));
    }
    if (end->next) {
        const struct http_request *next = TAKE(end->next);
        CHECK_OK(http_start(end->http, next, NULL, err), err);
    }
    return end->received_max && end->received > end->received_max
               ? error_set(err, ERROR_EXHAUSTED, "enough")
               : 0;
}

static void wait_all(struct http *http) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (http_count(http) && clock_monotonic_ms() < end_ms) {
        struct pollfd fd = {.fd = http_fd(http), .events = POLLIN};
        CHECK(poll(&fd, 1, 60000) == 1); /* the descriptor alone shows when to continue */
        CHECK_OK(http_wait(http, 0, &err), &err);
    }
    CHECK_INT(http_count(http), 0);
}

/* ---- a peer that answers every connection with one text ---- */

struct peer {
    int listener, port;
    const char *answer; /* NULL: never answers */
    bool keeps_open;
    int drips_ms; /* after the answer a byte each such time, until the other side closes */
    pthread_t thread;
};

static void *answer_all(void *context) {
    struct peer *peer = context;
    int fds[64], count = 0;
    for (;;) {
        int fd = accept(peer->listener, NULL, NULL);
        if (fd < 0) {
            break;
        }
        char request[4096];
        if (peer->answer && read(fd, request, sizeof request) > 0) {
            CHECK(send(fd, peer->answer, strlen(peer->answer), MSG_NOSIGNAL) >= 0 ||
                  errno == EPIPE || errno == ECONNRESET); /* it has heard enough */
        }
        while (peer->drips_ms && send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
            poll(NULL, 0, peer->drips_ms);
        }
        if (peer->keeps_open || !peer->answer) {
            fds[count++ % 64] = fd;
        } else {
            close(fd);
        }
    }
    for (int i = 0; i < count && i < 64; i++) {
        close(fds[i]);
    }
    return NULL;
}

static void peer_open(struct peer *peer) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
    socklen_t size = sizeof address;
    peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(peer->listener, (struct sockaddr *)&address, size) == 0);
    CHECK(listen(peer->listener, 64) == 0);
    CHECK(getsockname(peer->listener, (struct sockaddr *)&address, &size) == 0);
    peer->port = ntohs(address.sin_port);
    pthread_create(&peer->thread, NULL, answer_all, peer);
}

static void peer_close(struct peer *peer) {
    shutdown(peer->listener, SHUT_RDWR);
    pthread_join(peer->thread, NULL);
    close(peer->listener);
}

/* ---- our server, in its own thread ---- */

static char *certificate, *key;

static struct server_page page(void *context, const struct server_request *request) {
    const char *path = request->path;
    (void)context;
    return (struct server_page){.body = strcmp(path, "/page") == 0 ? x_strdup("{}") : NULL};
}
static void ignore_peer(void *context, struct server_peer *peer) {
    (void)context;
    (void)peer;
}
static void ignore_text(void *context, struct server_peer *peer, const char *text, size_t size) {
    (void)text;
    (void)size;
    ignore_peer(context, peer);
}

struct house {
    struct server *server;
    pthread_t thread;
    volatile bool stop;
};

static void *serve(void *context) {
    struct house *house = context;
    struct error err = {0};
    while (!house->stop && server_service(house->server, 1000, &err) == 0) {
    }
    return NULL;
}

static void house_open(struct house *house) {
    static const struct server_events events = {page, ignore_peer, ignore_text, ignore_peer};
    struct error err = {0};
    struct server_options options = {"127.0.0.1:0", certificate, key,  "/work", "secret",
                                     &events,       NULL,        NULL, false,   0};
    CHECK_OK(server_open(&options, &house->server, &err), &err);
    pthread_create(&house->thread, NULL, serve, house);
}

static void house_close(struct house *house) {
    house->stop = true;
    server_wake(house->server);
    pthread_join(house->thread, NULL);
    server_free(house->server);
}

/* ---- tests ---- */

static void test_many_calls_at_once(void) {
    struct house house = {0};
    house_open(&house);
    struct error err = {0};
    struct http *http = NULL;
    CHECK_OK(http_open(&http, &err), &err);
    struct end ends[40] = {0};
    AUTO(text_freep)
    char *url = x_printf("https://127.0.0.1:%d/page", server_port(house.server));
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct http_request request = {.url = url,
                                       .certificate_pem = certificate,
                                       .reuse = i % 2 ? HTTP_ONCE : HTTP_SHARE,
                                       .timeout_ms = 60000,
                                       .bytes_max = 100,
                                       .done = note,
                                       .context = &ends[i]};
        CHECK_OK(http_start(http, &request, NULL, &err), &err);
    }
    wait_all(http);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        CHECK_INT(ends[i].count, 1);
        CHECK_INT(ends[i].status, 200);
        CHECK_STR(ends[i].body, "{}");
        free(ends[i].body);
    }
    http_free(http);
    house_close(&house);
}

/* One request to a peer with that answer: its result. */
static void ask(struct peer *peer, struct http_request request, struct end *end) {
    struct error err = {0};
    AUTO(http_freep) struct http *http = NULL;
    CHECK_OK(http_open(&http, &err), &err);
    AUTO(text_freep) char *url = x_printf("http://127.0.0.1:%d/x", peer->port);
    request.url = url;
    request.bytes_max = 64;
    request.done = note;
    request.context = end;
    end->http = http;
    CHECK_OK(http_start(http, &request, NULL, &err), &err);
    wait_all(http);
    CHECK_INT(end->count, 1);
}

static void test_answers_and_errors(void) {
    static const struct {
        const char *name, *answer;
        bool keeps_open;
        int timeout_ms, silence_ms;
        int status, retry_after_s;
        enum error_kind kind;
    } rows[] = {
        {"plain", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", .status = 200},
        {"an answer of any status is an answer",
         "HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", .status = 429,
         .retry_after_s = 7},
        {"cut in the middle", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}",
         .kind = ERROR_UNAVAILABLE},
        {"nothing", "", .kind = ERROR_UNAVAILABLE},
        {"no HTTP", "what?\r\n\r\n", .kind = ERROR_UNAVAILABLE},
        {"too large",
         "HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n"
         "0123456789012345678901234567890123456789012345678901234567890123456789",
         .kind = ERROR_EXHAUSTED},
        {"never answers", NULL, true, .timeout_ms = 150, .kind = ERROR_TIMEOUT},
        {"goes silent", "HTTP/1.1 200 OK\r\n\r\nabc", true, .silence_ms = 150,
         .kind = ERROR_TIMEOUT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct peer peer = {.answer = rows[i].answer, .keeps_open = rows[i].keeps_open};
        struct end end = {0};
        peer_open(&peer);
        ask(&peer,
            (struct http_request){.timeout_ms = rows[i].timeout_ms,
                                  .silence_ms = rows[i].silence_ms},
            &end);
        if (end.err.kind != rows[i].kind) {
            printf("# %s: %s\n", rows[i].name, end.err.text);
        }
        CHECK_INT(end.err.kind, rows[i].kind);
        CHECK_INT(end.status, rows[i].status);
        CHECK_INT(end.retry_after_s, rows[i].retry_after_s);
        CHECK(end.is_sent);
        free(end.body);
        peer_close(&peer);
    }
}

/* Its bytes come often, and it never ends. */
static void test_a_byte_now_and_then_is_silence(void) {
    static const struct {
        const char *answer;
        size_t slowest_bytes;
        int silence_ms; /* on a busy machine, too, a byte of a body comes within it */
        const char *words;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\n\r\n", 1000, 3000, " bytes received in 3 s, at least 1000 are"},
        {"HTTP/1.1 500 Sorry\r\n\r\n", 1000, 3000, "too slow: only "},
        {"HTTP/1.1 200 OK\r\nX: ", 1000, 1000, "no byte of the answer's body received for 1 s"},
        {"HTTP/1.1 200 OK\r\nX: ", 0, 1000, "no byte of the answer's body received for 1 s"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct peer peer = {.answer = rows[i].answer, .drips_ms = 50};
        struct end end = {0};
        peer_open(&peer);
        ask(&peer,
            (struct http_request){.received = count_received,
                                  .silence_ms = rows[i].silence_ms,
                                  .slowest_bytes = rows[i].slowest_bytes},
            &end);
        CHECK_INT(end.err.kind, ERROR_TIMEOUT);
        CHECK(strstr(end.err.text, rows[i].words));
        peer_close(&peer);
    }
    /* Enough of them in that time, for several such times: it goes on until its limit. */
    struct peer peer = {.answer = "HTTP/1.1 200 OK\r\n\r\n", .drips_ms = 10};
    struct end end = {0};
    peer_open(&peer);
    ask(&peer,
        (struct http_request){
            .received = count_received, .silence_ms = 3000, .slowest_bytes = 2, .timeout_ms = 7000},
        &end);
    CHECK_INT(end.err.kind, ERROR_TIMEOUT);
    CHECK(!strstr(end.err.text, "too slow") && !strstr(end.err.text, "no byte"));
    peer_close(&peer);
}

/* A refusal is one, however much the server says to it. */
static void test_complaints_can_be_cut(void) {
    static const struct {
        const char *status;
        bool cuts;
        int wanted;
    } rows[] = {{"503 Busy", true, 503}, {"503 Busy", false, 0}, {"200 OK", true, 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *answer =
            x_printf("HTTP/1.1 %s\r\nContent-Length: 100\r\n\r\n%0100d", rows[i].status, 7);
        struct peer peer = {.answer = answer};
        struct end end = {0};
        peer_open(&peer);
        ask(&peer, (struct http_request){.cuts_complaints = rows[i].cuts}, &end);
        CHECK_INT(end.status, rows[i].wanted);
        CHECK_INT(end.err.kind, rows[i].wanted ? ERROR_NONE : ERROR_EXHAUSTED);
        CHECK_INT(end.body ? strlen(end.body) : 0, rows[i].wanted ? 64 : 0);
        free(end.body);
        peer_close(&peer);
    }
}

static void test_what_was_never_sent_is_known(void) {
    struct peer nobody = {0};
    peer_open(&nobody);
    peer_close(&nobody);
    struct end end = {0};
    ask(&nobody, (struct http_request){.connect_ms = 60000}, &end);
    CHECK_INT(end.err.kind, ERROR_UNAVAILABLE);
    CHECK(!end.is_sent);
    CHECK(strstr(end.err.text, "GET http://127.0.0.1:"));
}

static void test_a_stream_comes_in_pieces_and_can_be_refused(void) {
    struct peer peer = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789"};
    peer_open(&peer);
    struct end end = {0};
    ask(&peer, (struct http_request){.received = count_received}, &end);
    CHECK_INT(end.status, 200);
    CHECK_INT(end.received, 9);
    CHECK_STR(end.body, "");
    free(end.body);
    struct end refused = {.received_max = 4};
    ask(&peer, (struct http_request){.received = count_received}, &refused);
    CHECK_INT(refused.err.kind, ERROR_EXHAUSTED);
    CHECK(strstr(refused.err.text, "enough"));
    peer_close(&peer);
    /* The body of a refusal is not streamed. */
    struct peer angry = {.answer = "HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone"};
    peer_open(&angry);
    struct end gone = {0};
    ask(&angry, (struct http_request){.received = count_received}, &gone);
    CHECK_INT(gone.status, 410);
    CHECK_INT(gone.received, 0);
    CHECK_STR(gone.body, "gone");
    free(gone.body);
    peer_close(&angry);
}

/* Calls may be started and cancelled from the callbacks of others. */
static void test_callbacks_may_start_and_cancel(void) {
    struct peer quiet = {0}, peer = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"};
    peer_open(&quiet);
    peer_open(&peer);
    struct error err = {0};
    struct http *http = NULL;
    CHECK_OK(http_open(&http, &err), &err);
    AUTO(text_freep) char *url = x_printf("http://127.0.0.1:%d/", peer.port);
    AUTO(text_freep) char *quiet_url = x_printf("http://127.0.0.1:%d/", quiet.port);
    struct end victim = {0}, last = {0}, first = {.http = http};
    struct http_request waits = {.url = quiet_url, .done = note, .context = &victim};
    struct http_request next = {.url = url, .bytes_max = 9, .done = note, .context = &last};
    struct http_request start = {
        .url = url, .received = count_received, .done = note, .context = &first};
    first.next = &next;
    CHECK_OK(http_start(http, &waits, &first.victim, &err), &err);
    CHECK_OK(http_start(http, &start, NULL, &err), &err);
    wait_all(http);
    CHECK_INT(victim.count, 0);
    CHECK_INT(first.count, 1);
    CHECK_INT(last.count, 1);
    CHECK_STR(last.body, "1");
    free(first.body);
    free(last.body);
    /* Calls under way are dropped at the end. */
    CHECK_OK(http_start(http, &waits, NULL, &err), &err);
    http_free(http);
    CHECK_INT(victim.count, 0);
    peer_close(&quiet);
    peer_close(&peer);
}

static void test_a_proxy_that_is_given_is_used(void) {
    struct peer server = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserver"};
    struct peer proxy = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nproxy"};
    peer_open(&server);
    peer_open(&proxy);
    struct end end = {0};
    AUTO(text_freep) char *url = x_printf("http://127.0.0.1:%d", proxy.port);
    setenv("no_proxy", "*", 1);
    ask(&server, (struct http_request){.proxy = url}, &end);
    unsetenv("no_proxy");
    CHECK_STR(end.body, "proxy");
    free(end.body);
    peer_close(&proxy);
    peer_close(&server);
}

static void test_headers_are_told(void) {
    struct peer peer = {.answer =
                            "HTTP/1.1 200 OK\r\nX-SEEN: yes, it is\r\nContent-Length: 2\r\n\r\n{}"};
    peer_open(&peer);
    struct end end = {0}, head = {0};
    ask(&peer, (struct http_request){0}, &end);
    CHECK_STR(end.header, "yes, it is");
    free(end.body);
    /* After HEAD no body follows, whatever length the head gives. */
    ask(&peer, (struct http_request){.method = "HEAD", .timeout_ms = 60000}, &head);
    CHECK_INT(head.status, 200);
    CHECK_STR(head.header, "yes, it is");
    free(head.body);
    peer_close(&peer);
    struct peer plain = {.answer = "HTTP/1.1 204 Nothing\r\n\r\n"};
    peer_open(&plain);
    struct end none = {0};
    ask(&plain, (struct http_request){.body = "x", .body_size = 1, .borrows_body = true}, &none);
    CHECK_STR(none.header, "(none)");
    free(none.body);
    peer_close(&plain);
}

/* What libcurl would keep, or unpack, without bound. */
static void test_headers_are_few_and_bodies_not_packed(void) {
    enum { LINES = 3300 }; /* 81 bytes each */
    static const char line[] =
        "X-A: ..........................................................................\r\n";
    static const struct {
        const char *start, *repeated, *end;
        enum error_kind kind;
        const char *body;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", line, "\r\n",
         ERROR_EXHAUSTED, NULL},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: 1\r\n", "",
         "\r\n", ERROR_NONE, "{}"},
        {"HTTP/1.1 200 OK\r\ntransfer-encoding:\tCHUNKED \r\n\r\n2\r\n{}\r\n0\r\n\r\n", "", "",
         ERROR_NONE, "{}"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "", "", ERROR_UNSUPPORTED,
         NULL},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", "", "",
         ERROR_UNSUPPORTED, NULL},
        {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", "", "",
         ERROR_NONE, "{}"}, /* nor is that unpacked */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct end end = {0};
        struct buffer answer;
        struct error err = {0};
        buffer_init(&answer, 1 << 20);
        CHECK_OK(buffer_printf(&answer, &err, "%s", rows[i].start), &err);
        for (int k = 0; k < LINES; k++) {
            CHECK_OK(buffer_append(&answer, rows[i].repeated, strlen(rows[i].repeated), &err),
                     &err);
        }
        CHECK_OK(buffer_printf(&answer, &err, "%s", rows[i].end), &err);
        struct peer peer = {.answer = answer.data};
        peer_open(&peer);
        ask(&peer, (struct http_request){.timeout_ms = 60000}, &end);
        CHECK_INT(end.err.kind, rows[i].kind);
        CHECK(rows[i].kind || strcmp(end.body, rows[i].body) == 0);
        free(end.body);
        peer_close(&peer);
        buffer_release(&answer);
    }
}

static void test_messages_show_what_they_may(void) {
    struct peer nobody = {0};
    peer_open(&nobody);
    peer_close(&nobody);
    struct end end = {0};
    ask(&nobody, (struct http_request){.shown_url = "https://shown/"}, &end);
    CHECK(strstr(end.err.text, "GET https://shown/: ") && !strstr(end.err.text, "http://127"));
}

/* The address is given, but the certificate must still match the name. */
static void test_a_given_address(void) {
    struct house house = {0};
    house_open(&house);
    static const struct {
        const char *host;
        enum error_kind kind;
    } rows[] = {{"127.0.0.1", ERROR_NONE}, {"other.windlass.test", ERROR_DENIED}};
    char authorities[] = "/tmp/windlass-http-XXXXXX";
    int fd = mkstemp(authorities);
    CHECK(fd >= 0 && write(fd, certificate, strlen(certificate)) > 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int port = server_port(house.server);
        struct end end = {0};
        AUTO(http_freep) struct http *http = NULL;
        AUTO(text_freep) char *url = x_printf("https://%s:%d/page", rows[i].host, port);
        AUTO(text_freep) char *route = x_printf("%s:%d:127.0.0.1", rows[i].host, port);
        struct http_request request = {.url = url,
                                       .resolve = route,
                                       .authorities_file = authorities,
                                       .is_http1 = true,
                                       .timeout_ms = 60000,
                                       .bytes_max = 100,
                                       .done = note,
                                       .context = &end};
        struct error err = {0};
        CHECK_OK(http_open(&http, &err), &err);
        CHECK_OK(http_start(http, &request, NULL, &err), &err);
        wait_all(http);
        CHECK_INT(end.err.kind, rows[i].kind);
        CHECK_INT(end.status, rows[i].kind ? 0 : 200);
        free(end.body);
    }
    close(fd);
    unlink(authorities);
    house_close(&house);
}

static void get_once(const char *url, const char *resolve, struct end *end) {
    AUTO(http_freep) struct http *http = NULL;
    struct http_request request = {.url = url,
                                   .resolve = resolve,
                                   .refuses_link_local = true,
                                   .timeout_ms = 60000,
                                   .bytes_max = 100,
                                   .done = note,
                                   .context = end};
    struct error err = {0};
    CHECK_OK(http_open(&http, &err), &err);
    CHECK_OK(http_start(http, &request, NULL, &err), &err);
    wait_all(http);
}

/* However the address is written or found; nothing is sent. */
static void test_link_local_addresses_can_be_refused(void) {
    static const char *const rows[][2] = {
        {"http://169.254.169.254/", NULL},
        {"http://2852039166/", NULL},
        {"http://0xa9fea9fe/", NULL},
        {"http://169%2e254.169.254/", NULL},
        {"http://[::ffff:169.254.169.254]/", NULL},
        {"http://[fe80::1]/", NULL},
        {"http://model.windlass.test/", "model.windlass.test:80:169.254.1.1"},
        {"http://model.windlass.test/", "model.windlass.test:80:169.254.1.1,fe80::1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct end end = {0};
        get_once(rows[i][0], rows[i][1], &end);
        CHECK_INT(end.err.kind == ERROR_DENIED ? -1 : (int)i, -1);
        CHECK(strstr(end.err.text, "link-local or a metadata service's; nothing is sent there"));
        CHECK(!end.is_sent);
    }
    struct peer peer = {.answer = "HTTP/1.1 204 Nothing\r\n\r\n"};
    struct end end = {0};
    peer_open(&peer);
    ask(&peer, (struct http_request){.refuses_link_local = true}, &end);
    CHECK_INT(end.status, 204);
    free(end.body);
    peer_close(&peer);
}

int main(void) {
    struct error err = {0};
    CHECK_OK(tls_make_certificate(&certificate, &key, NULL, &err), &err);
    TEST(test_many_calls_at_once);
    TEST(test_answers_and_errors);
    TEST(test_a_byte_now_and_then_is_silence);
    TEST(test_complaints_can_be_cut);
    TEST(test_what_was_never_sent_is_known);
    TEST(test_a_stream_comes_in_pieces_and_can_be_refused);
    TEST(test_callbacks_may_start_and_cancel);
    TEST(test_a_proxy_that_is_given_is_used);
    TEST(test_headers_are_told);
    TEST(test_headers_are_few_and_bodies_not_packed);
    TEST(test_messages_show_what_they_may);
    TEST(test_a_given_address);
    TEST(test_link_local_addresses_can_be_refused);
    free(certificate);
    free(key);
    return TEST_END();
}
