// SPDX-License-Identifier: Apache-2.0
/* Server and client together, over a real connection of this machine. */
#include "lib/net/http.h"
#include "lib/net/server.h"
#include "lib/net/socket.h"
#include "lib/net/tls.h"
#include "lib/time/clock.h"

#include "tests/test.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* libwebsockets 4.1 leaks one TLS context if a process has a server and a client, as this test
 * does, and the agent of a gang's first pod (once: three are made, two freed). */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:lws_create_vhost\n";
}
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "fast_unwind_on_malloc=0";
}

#define READ_TOKEN "reader"

static char *certificate, *key;
static char sha256[65];

/* One server and its events. */
struct house {
    struct server *server;
    struct server_peer *peer;
    int opened, closed;
    char *last;
    size_t last_size;
};

static struct server_page page(void *context, const struct server_request *request) {
    (void)context;
    bool known = strcmp(request->path, "/progress") == 0;
    if (known && !request->may_read) {
        return server_page_closed();
    }
    return (struct server_page){.body = known ? x_strdup("{\"state\": \"Running\"}") : NULL};
}

static void opened(void *context, struct server_peer *peer) {
    struct house *house = context;
    house->opened++;
    house->peer = peer;
    server_peer_set(peer, house);
}

static void received(void *context, struct server_peer *peer, const char *text, size_t size) {
    struct house *house = context;
    CHECK(server_peer_get(peer) == house);
    free(house->last);
    house->last = x_strndup(text, size);
    house->last_size = size;
    if (strcmp(text, "bye") == 0) {
        server_send(peer, "last words");
        server_close(peer);
    } else {
        server_send(peer, text);
    }
}

static void closed(void *context, struct server_peer *peer) {
    struct house *house = context;
    house->closed++;
    house->peer = house->peer == peer ? NULL : house->peer;
}

static const struct server_events server_events = {page, opened, received, closed};

static void house_open(struct house *house, int port) {
    struct error err = {0};
    AUTO(text_freep) char *bind = x_printf("127.0.0.1:%d", port);
    struct server_options options = {bind,           certificate, key,        "/work", "secret",
                                     &server_events, house,       READ_TOKEN, false,   0};
    CHECK_OK(server_open(&options, &house->server, &err), &err);
}

static void house_close(struct house *house) {
    server_free(TAKE(house->server));
    free(TAKE(house->last));
}

struct guest {
    struct socket_client *socket;
    int opened, closed;
    char *last;
    size_t last_size;
    struct error why;
};

static void guest_opened(void *context) {
    struct guest *guest = context;
    guest->opened++;
}

static void guest_received(void *context, const char *text, size_t size) {
    struct guest *guest = context;
    free(guest->last);
    guest->last = x_strndup(text, size);
    guest->last_size = size;
}

static void guest_closed(void *context, const struct error *why) {
    struct guest *guest = context;
    guest->closed++;
    guest->why = *why;
}

static const struct socket_events guest_events = {guest_opened, guest_received, guest_closed};

static void guest_open(struct guest *guest, int port, const char *token, const char *pin) {
    struct error err = {0};
    AUTO(text_freep) char *address = x_printf("127.0.0.1:%d", port);
    struct socket_options options = {address, "/work", token, pin, &guest_events, guest};
    CHECK_OK(socket_open(&options, &guest->socket, &err), &err);
}

static void guest_close(struct guest *guest) {
    socket_free(TAKE(guest->socket));
    free(TAKE(guest->last));
}

/* Whether to service both ends again: for 60 s, and on a machine so busy that each turn takes long,
 * for that many turns. */
static bool goes_on(int64_t end_ms, int *turns) {
    enum { TURNS_MIN = 10000 };
    return (*turns)++ < TURNS_MIN || clock_monotonic_ms() < end_ms;
}

/* Services both ends until *counter reaches `wanted`. */
static void run_until(struct house *house, struct guest *guest, const int *counter, int wanted) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + 60000;
    int turns = 0;
    while (*counter < wanted && goes_on(end_ms, &turns)) {
        if (house->server) {
            CHECK_OK(server_service(house->server, 2, &err), &err);
        }
        CHECK_OK(socket_service(guest->socket, 2, &err), &err);
    }
    CHECK_INT(*counter, wanted);
}

static void run_until_last(struct house *house, struct guest *guest, size_t size) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + 60000;
    int turns = 0;
    while ((!guest->last || guest->last_size != size) && goes_on(end_ms, &turns)) {
        CHECK_OK(server_service(house->server, 2, &err), &err);
        CHECK_OK(socket_service(guest->socket, 2, &err), &err);
    }
}

static void test_messages_of_all_sizes_come_back(void) {
    struct house house = {0};
    struct guest guest = {0};
    house_open(&house, 0);
    guest_open(&guest, server_port(house.server), "secret", sha256);
    run_until(&house, &guest, &guest.opened, 1);
    CHECK(socket_is_open(guest.socket));
    static const size_t sizes[] = {1, 125, 126, 4095, 65535, 65536, 300000, CONTRACT_MESSAGE_MAX};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        AUTO(text_freep) char *text = x_malloc(sizes[i] + 1);
        for (size_t at = 0; at < sizes[i]; at++) {
            text[at] = (char)('a' + (at * 7 + i) % 26);
        }
        text[sizes[i]] = 0;
        socket_send(guest.socket, text);
        run_until_last(&house, &guest, sizes[i]);
        CHECK(guest.last && strcmp(guest.last, text) == 0);
    }
    socket_send(guest.socket, "bye");
    run_until(&house, &guest, &guest.closed, 1);
    CHECK_STR(guest.last, "last words");
    run_until(&house, &guest, &house.closed, 1);
    guest_close(&guest);
    house_close(&house);
}

static void test_a_wrong_token_is_refused(void) {
    struct house house = {0};
    struct guest guest = {0};
    house_open(&house, 0);
    guest_open(&guest, server_port(house.server), "wrong", sha256);
    run_until(&house, &guest, &guest.closed, 1);
    CHECK_INT(guest.why.kind, ERROR_DENIED);
    CHECK_STR(strstr(guest.why.text, "refused"), "refused the token");
    CHECK_INT(house.opened, 0);
    guest_close(&guest);
    house_close(&house);
}

static void test_a_wrong_certificate_is_refused(void) {
    struct house house = {0};
    struct guest guest = {0};
    char other[65];
    memcpy(other, sha256, sizeof other);
    other[63] = other[63] == '0' ? '1' : '0';
    house_open(&house, 0);
    guest_open(&guest, server_port(house.server), "secret", other);
    run_until(&house, &guest, &guest.closed, 2); /* and tries again */
    CHECK_INT(guest.why.kind, ERROR_DENIED);
    CHECK(strstr(guest.why.text, "another certificate"));
    CHECK_INT(house.opened, 0);
    guest_close(&guest);
    house_close(&house);
}

static void test_the_client_finds_a_server_that_comes_back(void) {
    struct house house = {0};
    struct guest guest = {0};
    house_open(&house, 0);
    int port = server_port(house.server);
    guest_open(&guest, port, "secret", sha256);
    run_until(&house, &guest, &guest.opened, 1);
    house_close(&house);
    run_until(&house, &guest, &guest.closed, 2); /* lost, then one failed attempt */
    CHECK_INT(guest.why.kind, ERROR_UNAVAILABLE);
    house_open(&house, port);
    run_until(&house, &guest, &guest.opened, 2);
    guest_close(&guest);
    house_close(&house);
}

static void test_a_client_may_end_while_it_connects(void) {
    struct house house = {0};
    house_open(&house, 0); /* takes the connection, but is not serviced */
    for (int i = 0; i < 3; i++) {
        struct guest guest = {0};
        struct error err = {0};
        guest_open(&guest, server_port(house.server), "secret", sha256);
        for (int step = 0; step <= i; step++) {
            CHECK_OK(socket_service(guest.socket, 10, &err), &err);
        }
        CHECK_INT(guest.opened, 0);
        guest_close(&guest);
    }
    house_close(&house);
}

struct server_thread {
    struct house *house;
    atomic_bool stop;
};

static void *serve(void *context) {
    struct server_thread *thread = context;
    struct error err = {0};
    while (!thread->stop && server_service(thread->house->server, 1000, &err) == 0) {
    }
    return NULL;
}

/* A GET by somebody who expects that certificate, of a server in a thread: 0 or the error's kind.
 */
static enum error_kind read_pinned(struct house *house, const char *expected) {
    struct server_thread state = {.house = house};
    pthread_t thread;
    pthread_create(&thread, NULL, serve, &state);
    struct error err = {0};
    AUTO(text_freep)
    char *url = x_printf("https://127.0.0.1:%d/nothing", server_port(house->server));
    struct http_request request = {
        .url = url, .certificate_pem = expected, .timeout_ms = 60000, .bytes_max = 4096};
    AUTO(text_freep) char *body = NULL;
    int status = 0;
    int result = http_get(&request, &status, &body, &err);
    state.stop = true;
    server_wake(house->server);
    pthread_join(thread, NULL);
    return result < 0 ? err.kind : ERROR_NONE;
}

/* Of another kind of key than tls_make_certificate makes. */
static void make_ed25519(char **ret_certificate, char **ret_key) {
    EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    X509 *made = X509_new();
    X509_NAME *name = X509_get_subject_name(made);
    X509_EXTENSION *place = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
    BIO *texts[] = {BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem())};
    CHECK(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"windlass",
                                     -1, -1, 0) &&
          X509_set_issuer_name(made, name) && X509_set_version(made, X509_VERSION_3) &&
          X509_gmtime_adj(X509_getm_notBefore(made), -3600) &&
          X509_gmtime_adj(X509_getm_notAfter(made), 3600) && X509_set_pubkey(made, pair) &&
          X509_add_ext(made, place, -1) && X509_sign(made, pair, NULL) > 0 &&
          PEM_write_bio_X509(texts[0], made) &&
          PEM_write_bio_PrivateKey(texts[1], pair, NULL, NULL, 0, NULL, NULL));
    char **into[] = {ret_certificate, ret_key};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char *text = NULL;
        long size = BIO_get_mem_data(texts[i], &text);
        *into[i] = x_strndup(text, (size_t)size);
        BIO_free(texts[i]);
    }
    X509_EXTENSION_free(place);
    X509_free(made);
    EVP_PKEY_free(pair);
}

static void test_a_certificate_is_renewed(void) {
    struct house house = {0};
    AUTO(text_freep) char *other = NULL;
    AUTO(text_freep) char *other_key = NULL;
    struct error err = {0};
    house_open(&house, 0);
    CHECK_OK(tls_make_certificate(&other, &other_key, NULL, &err), &err);
    CHECK_INT(server_renew(house.server, other, key, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "the certificate cannot be used with this private key: "));
    /* What is behind the first one is sent along, so it must be complete. */
    AUTO(text_freep)
    char *damaged =
        x_printf("%s-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", other);
    err = (struct error){0};
    CHECK_INT(server_renew(house.server, damaged, other_key, &err), -1);
    CHECK(strstr(err.text, "damaged"));
    CHECK_INT(read_pinned(&house, certificate), ERROR_NONE); /* the one before has stayed */
    CHECK_INT(read_pinned(&house, other), ERROR_DENIED);
    AUTO(text_freep) char *chain = x_printf("%s%s", other, certificate);
    CHECK_OK(server_renew(house.server, chain, other_key, &err), &err);
    CHECK_INT(read_pinned(&house, other), ERROR_NONE);
    CHECK_INT(read_pinned(&house, certificate), ERROR_DENIED);
    /* Another kind of key is not one that only some clients get. */
    AUTO(text_freep) char *third = NULL;
    AUTO(text_freep) char *third_key = NULL;
    make_ed25519(&third, &third_key);
    CHECK_OK(server_renew(house.server, third, third_key, &err), &err);
    CHECK_INT(read_pinned(&house, third), ERROR_NONE);
    CHECK_INT(read_pinned(&house, other), ERROR_DENIED);
    house_close(&house);
}

/* What a GET with these headers is answered with; the body must have no word of the page then. */
static int read_with(const struct house *house, const char *path, const char *const *headers) {
    struct error err = {0};
    AUTO(text_freep)
    char *url = x_printf("https://127.0.0.1:%d%s", server_port(house->server), path);
    struct http_request request = {.url = url,
                                   .headers = headers,
                                   .certificate_pem = certificate,
                                   .timeout_ms = 60000,
                                   .bytes_max = 4096};
    AUTO(text_freep) char *body = NULL;
    int status = 0;
    CHECK_OK(http_get(&request, &status, &body, &err), &err);
    CHECK_INT(strstr(body, "Running") != NULL, status == 200);
    return status;
}

static void test_pages_for_readers_alone(void) {
    struct house house = {0};
    house_open(&house, 0);
    struct server_thread state = {.house = &house};
    pthread_t thread;
    pthread_create(&thread, NULL, serve, &state);
    static const struct {
        const char *header;
        int status;
    } rows[] = {{NULL, 403},
                {SERVER_READ_HEADER ": " READ_TOKEN, 200},
                {"windlass-read-token: " READ_TOKEN, 200},
                {SERVER_READ_HEADER ": " READ_TOKEN "x", 403},
                {SERVER_READ_HEADER ": reade", 403},
                {SERVER_READ_HEADER ": ", 403},
                {SERVER_READ_HEADER ": secret", 403}, /* the token of the WebSocket */
                {"Authorization: Bearer " READ_TOKEN, 403},
                {"Authorization: Bearer secret", 403}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *headers[] = {rows[i].header, NULL};
        CHECK_INT(read_with(&house, "/progress", headers), rows[i].status);
    }
    AUTO(text_freep) char *long_token = x_malloc(2000);
    memset(long_token, 'a', 1999);
    memcpy(long_token, SERVER_READ_HEADER ": ", strlen(SERVER_READ_HEADER ": "));
    long_token[1999] = 0;
    const char *headers[] = {long_token, NULL};
    CHECK_INT(read_with(&house, "/progress", headers), 403);
    state.stop = true;
    server_wake(house.server);
    pthread_join(thread, NULL);
    house_close(&house);
}

static void test_pages_are_read_by_https(void) {
    struct house house = {0};
    house_open(&house, 0);
    struct server_thread state = {.house = &house};
    pthread_t thread;
    pthread_create(&thread, NULL, serve, &state);
    static const struct {
        const char *path;
        int status;
    } rows[] = {{"/progress", 200}, {"/nothing", 404}, {"/", 404}, {"/work", 404}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *headers[] = {SERVER_READ_HEADER ": " READ_TOKEN, NULL};
        CHECK_INT(read_with(&house, rows[i].path, headers), rows[i].status);
    }
    AUTO(text_freep)
    char *url = x_printf("https://127.0.0.1:%d/progress", server_port(house.server));
    AUTO(text_freep) char *other = NULL;
    AUTO(text_freep) char *other_key = NULL;
    struct error err = {0};
    CHECK_OK(tls_make_certificate(&other, &other_key, NULL, &err), &err);
    const struct {
        const char *url, *certificate;
        size_t bytes_max;
        enum error_kind kind;
    } failures[] = {{url, other, 4096, ERROR_DENIED},
                    {url, certificate, 4, ERROR_EXHAUSTED},
                    {url, "no certificate", 4096, ERROR_INVALID},
                    {"http://127.0.0.1:1/", certificate, 4096, ERROR_INVALID},
                    {"https://127.0.0.1:1/", certificate, 4096, ERROR_UNAVAILABLE}};
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        AUTO(text_freep) char *body = NULL;
        int status = 0;
        err = (struct error){0};
        const char *headers[] = {SERVER_READ_HEADER ": " READ_TOKEN, NULL};
        struct http_request request = {.url = failures[i].url,
                                       .headers = headers,
                                       .certificate_pem = failures[i].certificate,
                                       .timeout_ms = 60000,
                                       .bytes_max = failures[i].bytes_max};
        CHECK_INT(http_get(&request, &status, &body, &err), -1);
        CHECK_INT(err.kind, failures[i].kind);
    }
    state.stop = true;
    server_wake(house.server);
    pthread_join(thread, NULL);
    house_close(&house);
}

static void test_what_cannot_listen_says_why(void) {
    struct house house = {0};
    house_open(&house, 0);
    AUTO(text_freep) char *taken = x_printf("127.0.0.1:%d", server_port(house.server));
    const struct {
        const char *bind, *key, *sentence;
    } rows[] = {{taken, key, "Address already in use"},
                {"192.0.2.1:0", key, "Cannot assign requested address"},
                {"localhost:80", key, "expected IP:PORT"},
                {"127.0.0.1", key, "expected IP:PORT"},
                {"127.0.0.1:65536", key, "expected IP:PORT"},
                {"[::1:80", key, "expected IP:PORT"},
                {"127.0.0.1:0", "nothing", "no PEM private key"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct server *server = NULL;
        struct server_options options = {
            rows[i].bind,   certificate, rows[i].key, "/work", "secret",
            &server_events, &house,      NULL,        false,   0};
        CHECK_INT(server_open(&options, &server, &err), -1);
        if (!strstr(err.text, rows[i].sentence)) {
            CHECK_STR(err.text, rows[i].sentence);
        }
    }
    AUTO(text_freep) char *other = NULL;
    AUTO(text_freep) char *other_key = NULL;
    struct error err = {0};
    CHECK_OK(tls_make_certificate(&other, &other_key, NULL, &err), &err);
    struct server *server = NULL;
    struct server_options options = {"127.0.0.1:0",  certificate, other_key, "/work", "secret",
                                     &server_events, &house,      NULL,      false,   0};
    CHECK_INT(server_open(&options, &server, &err), -1);
    CHECK(strstr(err.text, "the certificate cannot be used with this private key: "));
    house_close(&house);
}

int main(void) {
    struct error err = {0};
    CHECK_OK(tls_make_certificate(&certificate, &key, NULL, &err), &err);
    CHECK_OK(tls_certificate_sha256(certificate, sha256, &err), &err);
    TEST(test_messages_of_all_sizes_come_back);
    TEST(test_a_wrong_token_is_refused);
    TEST(test_a_wrong_certificate_is_refused);
    TEST(test_the_client_finds_a_server_that_comes_back);
    TEST(test_a_client_may_end_while_it_connects);
    TEST(test_pages_for_readers_alone);
    TEST(test_pages_are_read_by_https);
    TEST(test_a_certificate_is_renewed);
    TEST(test_what_cannot_listen_says_why);
    free(certificate);
    free(key);
    return TEST_END();
}
