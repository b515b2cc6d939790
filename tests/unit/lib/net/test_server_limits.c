// SPDX-License-Identifier: Apache-2.0
/* What a server refuses: requests without its token or for another path, old TLS, messages that are
 * too large, and peers that do not read or do not
 * answer. The client is OpenSSL alone, because lib/net/socket.h
 * keeps to all limits. */
#include "lib/net/server.h"
#include "lib/net/tls.h"
#include "lib/time/clock.h"

#include "tests/test.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SECONDS = 10 /* for everything that does not come at once */, FLOOD = 64 };

static struct {
    struct server *server;
    pthread_t thread;
    atomic_bool stop, is_away;
    atomic_int received, closed;
} house;

static struct server_page page(void *context, const struct server_request *request) {
    const char *path = request->path;
    (void)context;
    (void)path;
    return (struct server_page){0};
}

static void opened(void *context, struct server_peer *peer) {
    (void)context;
    (void)peer;
}

/* Sends more than the queue of a peer that does not read may have. */
static void received(void *context, struct server_peer *peer, const char *text, size_t size) {
    (void)context;
    house.received++;
    if (size == 5 && memcmp(text, "flood", 5) == 0) {
        AUTO(text_freep) char *large = x_malloc(CONTRACT_MESSAGE_MAX + 1);
        memset(large, 'x', CONTRACT_MESSAGE_MAX);
        large[CONTRACT_MESSAGE_MAX] = 0;
        for (int i = 0; i < FLOOD; i++) {
            server_send(peer, large);
        }
    }
}

static void closed(void *context, struct server_peer *peer) {
    (void)context;
    (void)peer;
    house.closed++;
}

static void *serve(void *context) {
    struct error err = {0};
    (void)context;
    while (!house.stop && server_service(house.server, 50, &err) == 0) {
        while (house.is_away) {
            poll(NULL, 0, 10);
        }
    }
    return NULL;
}

static void house_open(void) {
    static const struct server_events events = {page, opened, received, closed};
    struct error err = {0};
    AUTO(text_freep) char *certificate = NULL;
    AUTO(text_freep) char *key = NULL;
    CHECK_OK(tls_make_certificate(&certificate, &key, NULL, &err), &err);
    struct server_options options = {"127.0.0.1:0", certificate, key,  "/work", "secret",
                                     &events,       NULL,        NULL, false,   0};
    CHECK_OK(server_open(&options, &house.server, &err), &err);
    house.stop = false;
    house.received = house.closed = 0;
    pthread_create(&house.thread, NULL, serve, NULL);
}

static void house_close(void) {
    house.stop = true;
    server_wake(house.server);
    pthread_join(house.thread, NULL);
    server_free(TAKE(house.server));
}

static bool has_come(atomic_int *counter) {
    int64_t end_ms = clock_monotonic_ms() + 1000 * SECONDS;
    while (*counter == 0 && clock_monotonic_ms() < end_ms) {
        poll(NULL, 0, 10);
    }
    return *counter > 0;
}

/* NULL: the server refuses that version of TLS. */
static SSL *dial(int version_max) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server_port(house.server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval timeout = {.tv_sec = SECONDS};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, version_max);
    SSL *tls = SSL_new(context);
    SSL_CTX_free(context);
    SSL_set_fd(tls, fd);
    if (SSL_connect(tls) == 1) {
        return tls;
    }
    SSL_free(tls);
    close(fd);
    return NULL;
}

static void hang_up(SSL *tls) {
    int fd = SSL_get_fd(tls);
    SSL_free(tls);
    close(fd);
}

/* Asks for a WebSocket; returns the status of the answer. lines: of headers, or "". */
static int ask(SSL *tls, const char *path, const char *lines) {
    char text[1024] = "";
    AUTO(text_freep)
    char *request =
        x_printf("GET %s HTTP/1.1\r\nHost: here\r\n%s%s"
                 "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                 "Sec-WebSocket-Protocol: windlass\r\n\r\n",
                 path, lines, strstr(lines, "Upgrade:") ? "" : "Upgrade: websocket\r\n");
    SSL_write(tls, request, (int)strlen(request));
    int got = SSL_read(tls, text, sizeof text - 1);
    return got > 12 ? (int)strtol(text + 9, NULL, 10) : -1;
}

static void who_is_let_in(void) {
    static const struct {
        const char *path, *lines;
        int status;
    } rows[] = {
        {"/work", "Authorization: Bearer secret\r\n", 101},
        {"/work", "Upgrade: WebSocket\r\nAuthorization: Bearer secret\r\n", 101},
        {"/work", "", 401},
        {"/work", "Upgrade: WebSocket\r\n", 401},
        {"/work", "Authorization: Bearer \r\n", 401},
        {"/work", "Authorization: Bearer secre\r\n", 401},
        {"/work", "Authorization: Bearer secret2\r\n", 401},
        {"/work", "Authorization: secret\r\n", 401},
        {"/works", "Authorization: Bearer secret\r\n", 404},
        {"/", "Authorization: Bearer secret\r\n", 404},
    };
    house_open();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        SSL *tls = dial(TLS1_3_VERSION);
        CHECK(tls);
        if (tls) {
            CHECK_INT(ask(tls, rows[i].path, rows[i].lines), rows[i].status);
            hang_up(tls);
        }
    }
    house_close();
}

static void old_tls_is_refused(void) {
    house_open();
    CHECK(dial(TLS1_2_VERSION) == NULL);
    house_close();
}

/* Whether a page is answered after this number of messages that renew the keys. */
static bool answers_after(int key_updates) {
    SSL *tls = dial(TLS1_3_VERSION);
    CHECK(tls);
    if (!tls) {
        return false;
    }
    for (int i = 0; i < key_updates; i++) {
        if (SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED) != 1 || SSL_do_handshake(tls) != 1) {
            break; /* it has hung up */
        }
    }
    bool is_answered = ask(tls, "/work", "") == 401;
    hang_up(tls);
    return is_answered;
}

static void keys_are_renewed_a_few_times(void) {
    house_open();
    CHECK(answers_after(8));
    CHECK(!answers_after(9));
    CHECK(!answers_after(1000));
    house_close();
}

/* Sends one text message. The mask is 0, so its bytes are sent as they are. */
static void send_text(SSL *tls, const char *text, size_t size) {
    unsigned char head[14] = {0x81, 0x80 | 127};
    for (int i = 0; i < 8; i++) {
        head[2 + i] = (unsigned char)(size >> 8 * (7 - i));
    }
    if (SSL_write(tls, head, sizeof head) > 0) {
        SSL_write(tls, text, (int)size);
    }
}

static void messages_have_a_largest_size(void) {
    AUTO(text_freep) char *text = x_malloc(CONTRACT_MESSAGE_MAX + 2);
    memset(text, 'x', CONTRACT_MESSAGE_MAX + 1);
    house_open();
    SSL *tls = dial(TLS1_3_VERSION);
    CHECK_INT(ask(tls, "/work", "Authorization: Bearer secret\r\n"), 101);
    send_text(tls, text, CONTRACT_MESSAGE_MAX);
    CHECK(has_come(&house.received));
    send_text(tls, text, CONTRACT_MESSAGE_MAX + 1);
    CHECK(has_come(&house.closed));
    CHECK_INT(house.received, 1);
    hang_up(tls);
    house_close();
}

static void who_does_not_read_is_sent_away(void) {
    house_open();
    SSL *tls = dial(TLS1_3_VERSION);
    CHECK_INT(ask(tls, "/work", "Authorization: Bearer secret\r\n"), 101);
    send_text(tls, "flood", 5);
    CHECK(has_come(&house.received));
    /* What the queue took, at most: the rest was dropped with the connection. */
    char some[65536];
    int64_t count = 0;
    int got;
    while (count < (int64_t)FLOOD * CONTRACT_MESSAGE_MAX &&
           (got = SSL_read(tls, some, sizeof some)) > 0) {
        count += got;
    }
    CHECK(count <= SERVER_QUEUE_MAX + 1024);
    CHECK(has_come(&house.closed));
    hang_up(tls);
    house_close();
}

/* Answers a ping if one came; pings counts them. */
static void answer_ping(SSL *tls, int *pings) {
    unsigned char pong[] = {0x8a, 0x81, 0, 0, 0, 0, 0}; /* a byte, as its ping */
    unsigned char frame[64];
    struct pollfd reads = {.fd = SSL_get_fd(tls), .events = POLLIN};
    if ((SSL_pending(tls) > 0 || poll(&reads, 1, 50) > 0) &&
        SSL_read(tls, frame, sizeof frame) > 0 && frame[0] == 0x89) {
        pong[sizeof pong - 1] = frame[2];
        SSL_write(tls, pong, sizeof pong);
        ++*pings;
    }
}

static void who_answers_no_ping_is_closed(void) {
    int64_t end_ms = clock_monotonic_ms() + 60000;
    int pings = 0;
    house_open();
    SSL *dead = dial(TLS1_3_VERSION), *alive = dial(TLS1_3_VERSION);
    CHECK_INT(ask(dead, "/work", "Authorization: Bearer secret\r\n"), 101);
    CHECK_INT(ask(alive, "/work", "Authorization: Bearer secret\r\n"), 101);
    SSL_clear_mode(alive, SSL_MODE_AUTO_RETRY); /* a read ends behind the server's tickets, too */
    while ((pings < 3 || house.closed == 0) && clock_monotonic_ms() < end_ms) {
        answer_ping(alive, &pings);
    }
    CHECK_INT(pings, 3);
    CHECK_INT(house.closed, 1);
    send_text(alive, "still", 5);
    CHECK(has_come(&house.received));
    hang_up(dead);
    hang_up(alive);
    house_close();
}

/* The server's thread does something else for longer than a peer may be silent that was pinged. */
static void who_was_not_listened_to_stays(void) {
    unsigned char frame[64] = "";
    house_open();
    SSL *tls = dial(TLS1_3_VERSION);
    CHECK_INT(ask(tls, "/work", "Authorization: Bearer secret\r\n"), 101);
    CHECK(SSL_read(tls, frame, sizeof frame) > 0 && frame[0] == 0x89);
    house.is_away = true;
    send_text(tls, "still", 5);
    poll(NULL, 0, (SERVER_SILENCE_S + 2) * 1000);
    house.is_away = false;
    CHECK(has_come(&house.received));
    poll(NULL, 0, 1000);
    CHECK_INT(house.closed, 0);
    hang_up(tls);
    house_close();
}

int main(void) {
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to who has hung up */
    TEST(who_is_let_in);
    TEST(old_tls_is_refused);
    TEST(keys_are_renewed_a_few_times);
    TEST(messages_have_a_largest_size);
    TEST(who_does_not_read_is_sent_away);
    TEST(who_answers_no_ping_is_closed);
    TEST(who_was_not_listened_to_stays);
    return TEST_END();
}
