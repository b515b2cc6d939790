// SPDX-License-Identifier: Apache-2.0
#include "lib/net/tls_limit.h"

#include "lib/base.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Where a connection's count is. Not the place of SSL_set_app_data, which libcurl may use. */
static int place;

static void make_place(void) {
    place = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    if (place < 0) {
        abort(); /* out of memory */
    }
}

static void on_message(int is_ours, int version UNUSED, int type, const void *data, size_t size,
                       SSL *tls, void *most) {
    if (is_ours || type != SSL3_RT_HANDSHAKE || size == 0) {
        return;
    }
    int kind = *(const unsigned char *)data;
    if (kind != SSL3_MT_KEY_UPDATE && kind != SSL3_MT_NEWSESSION_TICKET &&
        kind != SSL3_MT_HELLO_REQUEST) {
        return;
    }
    uintptr_t count = (uintptr_t)SSL_get_ex_data(tls, place) + 1;
    SSL_set_ex_data(tls, place, (void *)count);
    if (count > (uintptr_t)most) {
        SSL_set_shutdown(tls, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* the read ends with 0 */
    }
}

void tls_limit_set(SSL_CTX *context, int most) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_place);
    SSL_CTX_set_msg_callback(context, on_message);
    SSL_CTX_set_msg_callback_arg(context, (void *)(intptr_t)most);
}

bool tls_limit_fits(const char *name) {
    AUTO(text_freep) char *ours = x_printf("OpenSSL/%s", OpenSSL_version(OPENSSL_VERSION_STRING));
    return name && strcmp(name, ours) == 0;
}
