// SPDX-License-Identifier: Apache-2.0
/* A server that attacks who asks it by what OpenSSL takes within one read, however much comes: keys
 * that are renewed without end, tickets, and requests for a new handshake before there is one. It
 * is asked for a page, and for a WebSocket. */
#include "lib/net/http.h"
#include "lib/net/socket.h"
#include "lib/net/tls.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MANY = 2000,
    HELLO_REQUESTS = 4096, /* in a record */
    RECORDS = 20,          /* in a piece */
    PIECES = 100,          /* more than the system keeps on the way */
    WAIT_MS = 3000
};

static const char page[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell";
static const char refusal[] = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";

enum attack { RENEWALS, TICKETS, HELLOS };

struct house {
    enum attack attack;
    int count; /* of messages before the answer */
    const char *answer;
    char *certificate, *key, sha256[65];
    int listener;
    struct sockaddr_in address;
    SSL_CTX *context;
    pthread_t thread;
    bool all_taken; /* of HELLOS */
};

/* False: the other side has closed. */
static bool send_all(int fd, const char *data, size_t size) {
    while (size > 0) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

static void await_end(int fd) {
    char rest[256];
    while (recv(fd, rest, sizeof rest, 0) > 0) {
    }
}

static bool send_hellos(int fd) {
    enum { SIZE = 5 + 4 * HELLO_REQUESTS };
    AUTO(text_freep) char *records = x_calloc(RECORDS, SIZE);
    for (char *at = records; at < records + (size_t)RECORDS * SIZE; at += SIZE) {
        memcpy(at, "\x16\x03\x03\x40\x00", 5); /* the messages themselves are zeros */
    }
    int pieces = 0;
    while (pieces < PIECES && send_all(fd, records, (size_t)RECORDS * SIZE)) {
        pieces++;
    }
    return pieces == PIECES;
}

static bool add_message(SSL *tls, enum attack attack) {
    return (attack == RENEWALS ? SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED)
                               : SSL_new_session_ticket(tls)) == 1 &&
           SSL_do_handshake(tls) == 1;
}

/* All in one piece, so that what is read next is there already. */
static void answer_late(const struct house *house, int fd) {
    SSL *tls = SSL_new(house->context);
    char request[4096];
    SSL_set_fd(tls, fd);
    if (SSL_accept(tls) == 1 && SSL_read(tls, request, sizeof request) > 0) {
        BIO *memory = BIO_new(BIO_s_mem());
        SSL_set0_wbio(tls, memory);
        for (int i = 0; i < house->count; i++) {
            CHECK(add_message(tls, house->attack));
        }
        int size = (int)strlen(house->answer);
        CHECK(SSL_write(tls, house->answer, size) == size);
        char *data = NULL;
        long all = BIO_get_mem_data(memory, &data);
        (void)send_all(fd, data, (size_t)all);
    }
    SSL_free(tls);
}

static void *serve(void *context) {
    struct house *house = context;
    int fd = accept(house->listener, NULL, NULL);
    if (house->attack == HELLOS) {
        house->all_taken = send_hellos(fd);
    } else {
        answer_late(house, fd);
    }
    await_end(fd);
    close(fd);
    return NULL;
}

static void load(SSL_CTX *context, const char *certificate, const char *key) {
    BIO *pem[] = {BIO_new_mem_buf(certificate, -1), BIO_new_mem_buf(key, -1)};
    X509 *shown = PEM_read_bio_X509(pem[0], NULL, NULL, NULL);
    EVP_PKEY *own = PEM_read_bio_PrivateKey(pem[1], NULL, NULL, NULL);
    CHECK(SSL_CTX_use_certificate(context, shown) == 1);
    CHECK(SSL_CTX_use_PrivateKey(context, own) == 1);
    X509_free(shown);
    EVP_PKEY_free(own);
    BIO_free(pem[0]);
    BIO_free(pem[1]);
}

static void note(void *context, const struct http_answer *got, bool is_sent,
                 const struct error *err) {
    struct error *end = context;
    (void)is_sent;
    *end = err ? *err : (struct error){0};
    CHECK(err || (got->status == 200 && strcmp(got->body, "well") == 0));
}

static void open_house(struct house *house, enum attack attack, int count, const char *answer) {
    struct error err = {0};
    socklen_t size = sizeof house->address;
    *house = (struct house){.attack = attack, .count = count, .answer = answer};
    CHECK_OK(tls_make_certificate(&house->certificate, &house->key, house->sha256, &err), &err);
    house->context = SSL_CTX_new(TLS_server_method());
    load(house->context, house->certificate, house->key);
    house->address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    house->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(house->listener, (struct sockaddr *)&house->address, size) == 0);
    CHECK(listen(house->listener, 1) == 0);
    CHECK(getsockname(house->listener, (struct sockaddr *)&house->address, &size) == 0);
    pthread_create(&house->thread, NULL, serve, house);
}

/* After the client's end, for which the server waits. */
static void close_house(struct house *house) {
    pthread_join(house->thread, NULL);
    close(house->listener);
    SSL_CTX_free(house->context);
    free(house->certificate);
    free(house->key);
}

/* How a request ends whose server does so; kind NONE: it was answered. */
static struct error ask(enum attack attack, int count) {
    struct house house;
    struct error err = {0}, end = {0};
    AUTO(http_freep) struct http *http = NULL;
    open_house(&house, attack, count, page);
    AUTO(text_freep)
    char *url = x_printf("https://127.0.0.1:%d/", ntohs(house.address.sin_port));
    const struct http_request request = {.url = url,
                                         .certificate_pem = house.certificate,
                                         .reuse = HTTP_ONCE,
                                         .timeout_ms = attack == HELLOS ? WAIT_MS : 60000,
                                         .bytes_max = 100,
                                         .done = note,
                                         .context = &end};
    CHECK_OK(http_open(&http, &err), &err);
    CHECK_OK(http_start(http, &request, NULL, &err), &err);
    while (http_count(http) > 0) {
        CHECK_OK(http_wait(http, 1000, &err), &err);
    }
    http_free(TAKE(http));
    close_house(&house);
    CHECK(!house.all_taken);
    return end;
}

static void on_opened(void *context) {
    (void)context;
    CHECK(false);
}

static void on_received(void *context, const char *text, size_t size) {
    (void)context, (void)text, (void)size;
    CHECK(false);
}

static void on_closed(void *context, const struct error *why) {
    *(struct error *)context = *why;
}

/* How a WebSocket ends whose server does so, and then refuses the token: DENIED, if all was taken.
 */
static struct error join(enum attack attack, int count) {
    static const struct socket_events events = {on_opened, on_received, on_closed};
    struct house house;
    struct error err = {0}, end = {0};
    struct socket_client *client = NULL;
    open_house(&house, attack, count, refusal);
    AUTO(text_freep) char *address = x_printf("127.0.0.1:%d", ntohs(house.address.sin_port));
    struct socket_options options = {address, "/work", "secret", house.sha256, &events, &end};
    CHECK_OK(socket_open(&options, &client, &err), &err);
    while (end.kind == ERROR_NONE) {
        CHECK_OK(socket_service(client, 5, &err), &err);
    }
    socket_free(client);
    close_house(&house);
    CHECK(!house.all_taken);
    return end;
}

static void what_servers_send_is_taken(void) {
    CHECK_INT(ask(RENEWALS, 0).kind, ERROR_NONE);
    CHECK_INT(ask(RENEWALS, 50).kind, ERROR_NONE);
    CHECK_INT(ask(TICKETS, 50).kind, ERROR_NONE);
    CHECK_INT(join(RENEWALS, 0).kind, ERROR_DENIED);
    CHECK_INT(join(RENEWALS, 50).kind, ERROR_DENIED);
    CHECK_INT(join(TICKETS, 50).kind, ERROR_DENIED);
}

static void what_has_no_end_is_not(void) {
    CHECK_INT(ask(RENEWALS, MANY).kind, ERROR_UNAVAILABLE);
    CHECK_INT(ask(TICKETS, MANY).kind, ERROR_UNAVAILABLE);
    CHECK_INT(ask(HELLOS, 0).kind, ERROR_UNAVAILABLE); /* TIMEOUT: all were taken */
    CHECK_INT(join(RENEWALS, MANY).kind, ERROR_UNAVAILABLE);
    CHECK_INT(join(TICKETS, MANY).kind, ERROR_UNAVAILABLE);
    CHECK_INT(join(HELLOS, 0).kind, ERROR_UNAVAILABLE);
}

int main(void) {
    TEST(what_servers_send_is_taken);
    TEST(what_has_no_end_is_not);
    return TEST_END();
}
