// SPDX-License-Identifier: Apache-2.0
#include "lib/net/keyed_stream.h"

#include "lib/net/tls_limit.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES_MAX = 8 /* without data; ours sends none */ };

struct keyed_stream_context {
    SSL_CTX *tls;
    uint8_t key[KEYED_STREAM_KEY_SIZE];
};

struct keyed_stream {
    SSL *tls;
    const struct keyed_stream_context *context;
    char name[KEYED_STREAM_NAME_MAX + 1];
    short events;
};

static unsigned copy_key(const struct keyed_stream *stream, unsigned char *to, unsigned most) {
    if (most < KEYED_STREAM_KEY_SIZE) {
        return 0;
    }
    memcpy(to, stream->context->key, KEYED_STREAM_KEY_SIZE);
    return KEYED_STREAM_KEY_SIZE;
}

/* OpenSSL calls it once per side and connection. */
static unsigned on_connect(SSL *tls, const char *hint, char *identity, unsigned identity_max,
                           unsigned char *key, unsigned key_max) {
    const struct keyed_stream *stream = SSL_get_app_data(tls);
    (void)hint;
    int size = snprintf(identity, identity_max, "%s", stream->name);
    return size > 0 && (unsigned)size < identity_max ? copy_key(stream, key, key_max) : 0;
}

static unsigned on_accept(SSL *tls, const char *identity, unsigned char *key, unsigned key_max) {
    const struct keyed_stream *stream = SSL_get_app_data(tls);
    return identity && strcmp(identity, stream->name) == 0 ? copy_key(stream, key, key_max) : 0;
}

int keyed_stream_context_new(const uint8_t key[static KEYED_STREAM_KEY_SIZE],
                             struct keyed_stream_context **ret_context, struct error *err) {
    SSL_CTX *tls = SSL_CTX_new(TLS_method());
    /* The digest that goes with a key of this form is SHA-256. Sessions are not resumed. */
    if (!tls || !SSL_CTX_set_min_proto_version(tls, TLS1_3_VERSION) ||
        !SSL_CTX_set_ciphersuites(tls, "TLS_AES_128_GCM_SHA256") ||
        !SSL_CTX_set_num_tickets(tls, 0)) {
        SSL_CTX_free(tls);
        ERR_clear_error();
        return error_set(err, ERROR_UNAVAILABLE, "cannot set up TLS with a shared key");
    }
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
    tls_limit_set(tls, MESSAGES_MAX);
    SSL_CTX_set_psk_client_callback(tls, on_connect);
    SSL_CTX_set_psk_server_callback(tls, on_accept);
    struct keyed_stream_context *context = x_calloc(1, sizeof *context);
    context->tls = tls;
    memcpy(context->key, key, sizeof context->key);
    *ret_context = context;
    return 0;
}

void keyed_stream_context_free(struct keyed_stream_context *context) {
    if (context) {
        SSL_CTX_free(context->tls);
        OPENSSL_cleanse(context->key, sizeof context->key);
        free(context);
    }
}

int keyed_stream_new(struct keyed_stream_context *context, int fd, bool connects, const char *name,
                     struct keyed_stream **ret_stream, struct error *err) {
    SSL *tls = SSL_new(context->tls);
    if (!tls || !SSL_set_fd(tls, fd)) {
        SSL_free(tls);
        ERR_clear_error();
        return error_set(err, ERROR_UNAVAILABLE, "cannot set up TLS for a connection");
    }
    struct keyed_stream *stream = x_calloc(1, sizeof *stream);
    stream->tls = tls;
    stream->context = context;
    snprintf(stream->name, sizeof stream->name, "%s", name);
    SSL_set_app_data(tls, stream);
    if (connects) {
        SSL_set_connect_state(tls);
        SSL_set_verify(tls, SSL_VERIFY_PEER, NULL); /* no certificate verifies: there are no CAs */
    } else {
        SSL_set_accept_state(tls);
    }
    *ret_stream = stream;
    return 0;
}

void keyed_stream_free(struct keyed_stream *stream) {
    if (stream) {
        SSL_free(stream->tls);
        free(stream);
    }
}

static enum keyed_stream_result result_of(struct keyed_stream *stream, int result) {
    int why = SSL_get_error(stream->tls, result);
    stream->events = 0;
    ERR_clear_error();
    switch (why) {
    case SSL_ERROR_NONE:
        return KEYED_STREAM_DONE;
    case SSL_ERROR_WANT_READ:
        stream->events = POLLIN;
        return KEYED_STREAM_WAITS;
    case SSL_ERROR_WANT_WRITE:
        stream->events = POLLOUT;
        return KEYED_STREAM_WAITS;
    case SSL_ERROR_ZERO_RETURN:
        return KEYED_STREAM_ENDED;
    default:
        return KEYED_STREAM_FAILED;
    }
}

enum keyed_stream_result keyed_stream_shake_hands(struct keyed_stream *stream) {
    ERR_clear_error();
    enum keyed_stream_result result = result_of(stream, SSL_do_handshake(stream->tls));
    /* OpenSSL goes on without the key if the other side proposes so. A handshake by a shared key
     * counts as a resumed session. */
    bool has_key = result != KEYED_STREAM_DONE || SSL_session_reused(stream->tls);
    return has_key ? result : KEYED_STREAM_FAILED;
}

enum keyed_stream_result keyed_stream_read(struct keyed_stream *stream, void *data, size_t size,
                                           size_t *ret_size) {
    ERR_clear_error();
    return result_of(stream, SSL_read_ex(stream->tls, data, size, ret_size));
}

enum keyed_stream_result keyed_stream_write(struct keyed_stream *stream, const void *data,
                                            size_t size, size_t *ret_size) {
    ERR_clear_error();
    return result_of(stream, SSL_write_ex(stream->tls, data, size, ret_size));
}

enum keyed_stream_result keyed_stream_end(struct keyed_stream *stream) {
    ERR_clear_error();
    int result = SSL_shutdown(stream->tls);
    return result >= 0 ? KEYED_STREAM_DONE : result_of(stream, result);
}

short keyed_stream_events(const struct keyed_stream *stream) {
    return stream->events;
}
