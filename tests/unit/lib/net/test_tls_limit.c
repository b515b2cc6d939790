// SPDX-License-Identifier: Apache-2.0
/* A server that attacks who asks it by what OpenSSL takes within one read, however much comes: keys
 * that are renewed without end, tickets, and requests for a new handshake before there is one. */
#include "lib/net/http.h"
#include "lib/net/tls.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MANY = 2000, HELLO_REQUESTS = 4096 /* in a record */, RECORDS = 20, WAIT_MS = 3000 };

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell";

enum attack { RENEWALS, TICKETS, HELLOS };

struct house {
    enum attack attack;
    int count; /* of messages before the answer */
    int listener;
    struct sockaddr_in address;
    SSL_CTX *context;
    pthread_t thread;
};

/* Until the other side closes. */
static void send_all(int fd, const char *data, size_t size) {
    char rest[256];
    while (size > 0) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return;
        }
        data += sent;
        size -= (size_t)sent;
    }
    while (recv(fd, rest, sizeof rest, 0) > 0) {
    }
}

static void send_hellos(int fd) {
    enum { SIZE = 5 + 4 * HELLO_REQUESTS };
    AUTO(text_freep) char *records = x_calloc(RECORDS, SIZE);
    for (char *at = records; at < records + (size_t)RECORDS * SIZE; at += SIZE) {
        memcpy(at, "\x16\x03\x03\x40\x00", 5); /* the messages themselves are zeros */
    }
    send_all(fd, records, (size_t)RECORDS * SIZE);
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
        CHECK(SSL_write(tls, answer, sizeof answer - 1) == sizeof answer - 1);
        char *data = NULL;
        long size = BIO_get_mem_data(memory, &data);
        send_all(fd, data, (size_t)size);
    }
    SSL_free(tls);
}

static void *serve(void *context) {
    const struct house *house = context;
    int fd = accept(house->listener, NULL, NULL);
    if (house->attack == HELLOS) {
        send_hellos(fd);
    } else {
        answer_late(house, fd);
    }
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

/* How a request ends whose server does so; kind NONE: it was answered. */
static struct error ask(enum attack attack, int count) {
    struct house house = {.attack = attack, .count = count};
    struct error err = {0}, end = {0};
    socklen_t size = sizeof house.address;
    AUTO(text_freep) char *certificate = NULL;
    AUTO(text_freep) char *key = NULL;
    AUTO(http_freep) struct http *http = NULL;
    CHECK_OK(tls_make_certificate(&certificate, &key, NULL, &err), &err);
    house.context = SSL_CTX_new(TLS_server_method());
    load(house.context, certificate, key);
    house.address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    house.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(house.listener, (struct sockaddr *)&house.address, size) == 0);
    CHECK(listen(house.listener, 1) == 0);
    CHECK(getsockname(house.listener, (struct sockaddr *)&house.address, &size) == 0);
    pthread_create(&house.thread, NULL, serve, &house);
    AUTO(text_freep)
    char *url = x_printf("https://127.0.0.1:%d/", ntohs(house.address.sin_port));
    const struct http_request request = {.url = url,
                                         .certificate_pem = certificate,
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
    http_free(TAKE(http)); /* and closes: the server waits for that */
    pthread_join(house.thread, NULL);
    close(house.listener);
    SSL_CTX_free(house.context);
    return end;
}

static void what_servers_send_is_taken(void) {
    CHECK_INT(ask(RENEWALS, 0).kind, ERROR_NONE);
    CHECK_INT(ask(RENEWALS, 50).kind, ERROR_NONE);
    CHECK_INT(ask(TICKETS, 50).kind, ERROR_NONE);
}

static void what_has_no_end_is_not(void) {
    CHECK_INT(ask(RENEWALS, MANY).kind, ERROR_UNAVAILABLE);
    CHECK_INT(ask(TICKETS, MANY).kind, ERROR_UNAVAILABLE);
    CHECK_INT(ask(HELLOS, 0).kind, ERROR_UNAVAILABLE); /* TIMEOUT: all were taken */
}

int main(void) {
    TEST(what_servers_send_is_taken);
    TEST(what_has_no_end_is_not);
    return TEST_END();
}
