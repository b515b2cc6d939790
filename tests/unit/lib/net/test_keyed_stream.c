// SPDX-License-Identifier: Apache-2.0
/* Two sides over a socket pair: the same key, other keys and names, half an end, strangers on
 * either side. */
#include "lib/net/keyed_stream.h"

#include "tests/test.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS = 20, BIG = 300000 };

struct pair {
    int fds[2];
    struct keyed_stream_context *keys[2];
    struct keyed_stream *streams[2];
};

static void pair_open(struct pair *pair, uint8_t first, uint8_t second, const char *wanted,
                      const char *name) {
    const uint8_t keys[2][KEYED_STREAM_KEY_SIZE] = {{first, 7}, {second, 7}};
    struct error err = {0};
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair->fds), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(keyed_stream_context_new(keys[i], &pair->keys[i], &err), &err);
        CHECK_OK(keyed_stream_new(pair->keys[i], pair->fds[i], i == 0, i == 0 ? wanted : name,
                                  &pair->streams[i], &err),
                 &err);
    }
}

static void pair_close(struct pair *pair) {
    for (int i = 0; i < 2; i++) {
        keyed_stream_free(pair->streams[i]);
        keyed_stream_context_free(pair->keys[i]);
        close(pair->fds[i]);
    }
}

/* Whether both sides come to DONE. */
static bool pair_meet(struct pair *pair) {
    enum keyed_stream_result results[2] = {KEYED_STREAM_WAITS, KEYED_STREAM_WAITS};
    for (int i = 0; i < TURNS; i++) {
        for (int side = 0; side < 2; side++) {
            if (results[side] == KEYED_STREAM_WAITS) {
                results[side] = keyed_stream_shake_hands(pair->streams[side]);
            }
        }
    }
    return results[0] == KEYED_STREAM_DONE && results[1] == KEYED_STREAM_DONE;
}

static void test_meet(void) {
    struct pair pair;
    static char sent[BIG], got[BIG];
    size_t out = 0, in = 0, size = 0;
    for (size_t i = 0; i < BIG; i++) {
        sent[i] = (char)(i * 7 + i / 256);
    }
    pair_open(&pair, 1, 1, "worker 3", "worker 3");
    CHECK(pair_meet(&pair));
    while (in < BIG && !test_failures) {
        if (out < BIG && keyed_stream_write(pair.streams[0], sent + out, BIG - out, &size) ==
                             KEYED_STREAM_DONE) {
            out += size;
        }
        enum keyed_stream_result result =
            keyed_stream_read(pair.streams[1], got + in, BIG - in, &size);
        CHECK(result == KEYED_STREAM_DONE || result == KEYED_STREAM_WAITS);
        in += result == KEYED_STREAM_DONE ? size : 0;
    }
    CHECK(memcmp(sent, got, BIG) == 0);
    /* One direction ends, the other goes on. */
    CHECK_INT(keyed_stream_end(pair.streams[0]), KEYED_STREAM_DONE);
    CHECK_INT(keyed_stream_read(pair.streams[1], got, BIG, &size), KEYED_STREAM_ENDED);
    CHECK_INT(keyed_stream_write(pair.streams[1], "back", 4, &size), KEYED_STREAM_DONE);
    CHECK_INT(keyed_stream_read(pair.streams[0], got, BIG, &size), KEYED_STREAM_DONE);
    CHECK_INT(size, 4);
    pair_close(&pair);
}

static void test_strangers(void) {
    struct pair pair;
    pair_open(&pair, 1, 2, "worker 3", "worker 3");
    CHECK(!pair_meet(&pair));
    pair_close(&pair);
    pair_open(&pair, 1, 1, "worker 3", "worker 4"); /* led to another side */
    CHECK(!pair_meet(&pair));
    pair_close(&pair);
    pair_open(&pair, 1, 1, "worker 3", "worker 3");
    CHECK(write(pair.fds[0], "GET / HTTP/1.1\r\n\r\n", 18) == 18);
    CHECK_INT(keyed_stream_shake_hands(pair.streams[1]), KEYED_STREAM_FAILED);
    pair_close(&pair);
    pair_open(&pair, 1, 1, "worker 3", "worker 3");
    CHECK_INT(keyed_stream_shake_hands(pair.streams[1]), KEYED_STREAM_WAITS);
    shutdown(pair.fds[0], SHUT_RDWR);
    CHECK_INT(keyed_stream_shake_hands(pair.streams[1]), KEYED_STREAM_FAILED);
    pair_close(&pair);
}

/* A TLS server that ignores the key and shows a certificate of its own. */
static SSL *server_without_key(int fd, SSL_CTX **ret_context) {
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
    CHECK_INT(SSL_CTX_use_certificate(context, certificate), 1);
    CHECK_INT(SSL_CTX_use_PrivateKey(context, key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    SSL *server = SSL_new(context);
    SSL_set_fd(server, fd);
    SSL_set_accept_state(server);
    *ret_context = context;
    return server;
}

static void test_server_without_the_key(void) {
    struct pair pair;
    SSL_CTX *context = NULL;
    enum keyed_stream_result result = KEYED_STREAM_WAITS;
    pair_open(&pair, 1, 1, "worker 3", "worker 3");
    SSL *server = server_without_key(pair.fds[1], &context);
    for (int i = 0; i < TURNS && result == KEYED_STREAM_WAITS; i++) {
        result = keyed_stream_shake_hands(pair.streams[0]);
        SSL_do_handshake(server);
    }
    CHECK_INT(result, KEYED_STREAM_FAILED);
    SSL_free(server);
    SSL_CTX_free(context);
    pair_close(&pair);
}

/* A record of requests for a new handshake, of which OpenSSL takes any number within one call. */
static void test_requests_without_end(void) {
    static const uint8_t record[5 + (16 << 10)] = {22, 3, 3, 16384 >> 8, 0};
    struct pair pair;
    pair_open(&pair, 1, 1, "worker 3", "worker 3");
    CHECK_INT(keyed_stream_shake_hands(pair.streams[0]), KEYED_STREAM_WAITS);
    CHECK(write(pair.fds[1], record, sizeof record) == sizeof record);
    CHECK_INT(keyed_stream_shake_hands(pair.streams[0]), KEYED_STREAM_ENDED);
    pair_close(&pair);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    TEST(test_meet);
    TEST(test_strangers);
    TEST(test_server_without_the_key);
    TEST(test_requests_without_end);
    return TEST_END();
}
