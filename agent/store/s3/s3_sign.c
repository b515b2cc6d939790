// SPDX-License-Identifier: Apache-2.0
/* Builds a request, and signs it with Signature Version 4 ("Signature Calculations for the
 * Authorization Header", docs.aws.amazon.com). */
#include "agent/store/s3/s3_store.h"

#include "lib/buffer.h"
#include "lib/digest.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAYLOAD "UNSIGNED-PAYLOAD"

enum { MAC_BYTES = 32 };

/* "20130524T000000Z"; its first 8 characters are the date. */
static void format_time(int64_t wall_ms, char text[static 32]) {
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm date;
    gmtime_r(&seconds, &date);
    snprintf(text, 32, "%04u%02u%02uT%02u%02u%02uZ", (unsigned)(date.tm_year + 1900) % 10000,
             (unsigned)(date.tm_mon + 1) % 100, (unsigned)date.tm_mday % 100,
             (unsigned)date.tm_hour % 100, (unsigned)date.tm_min % 100,
             (unsigned)date.tm_sec % 100);
}

static bool keeps_nonce(const struct cloud_call *call) {
    return call->nonce && strcmp(call->method, "HEAD") != 0;
}

/* All headers whose names begin with x-amz- must be signed, in the order of their names. */
static void add_signed(const struct cloud_call *call, const struct cloud_grant *grant,
                       const char *time, struct cloud_signed *request, size_t *count) {
    request->headers[(*count)++] = x_strdup("x-amz-content-sha256:" PAYLOAD);
    request->headers[(*count)++] = x_printf("x-amz-date:%s", time);
    if (keeps_nonce(call)) {
        request->headers[(*count)++] = x_printf("x-amz-meta-windlass:%s", call->nonce);
    }
    if (grant->session) {
        request->headers[(*count)++] = x_printf("x-amz-security-token:%s", grant->session);
    }
}

static char *make_names(const struct cloud_call *call, const struct cloud_grant *grant) {
    return x_printf("host;x-amz-content-sha256;x-amz-date%s%s",
                    keeps_nonce(call) ? ";x-amz-meta-windlass" : "",
                    grant->session ? ";x-amz-security-token" : "");
}

/* The request's SHA-256 in its canonical form. */
static void digest_request(const struct s3_place *place, const struct cloud_call *call,
                           const char *path, const char *names, const struct cloud_signed *request,
                           char digest[static 65]) {
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, CLOUD_TEXT_MAX);
    const char *const lines[] = {call->method, "\n", path, "\n"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        cloud_append(&text, lines[i]);
    }
    cloud_append_query(&text, call);
    cloud_append(&text, "\nhost:");
    cloud_append(&text, place->authority);
    cloud_append(&text, "\n");
    for (size_t i = 0; request->headers[i]; i++) {
        cloud_append(&text, request->headers[i]);
        cloud_append(&text, "\n");
    }
    cloud_append(&text, "\n");
    cloud_append(&text, names);
    cloud_append(&text, "\n" PAYLOAD);
    digest_sha256(text.data, text.size, digest);
    explicit_bzero(text.data, text.size); /* it has the session's token */
}

static void mac_of(const unsigned char *key, size_t key_size, const char *text,
                   unsigned char mac[static MAC_BYTES]) {
    unsigned char made[MAC_BYTES];
    digest_hmac_sha256(key, key_size, text, strlen(text), made);
    memcpy(mac, made, sizeof made);
    explicit_bzero(made, sizeof made);
}

static void sign_text(const struct cloud_grant *grant, const char *date, const char *region,
                      const char *text, char signature[static 2 * MAC_BYTES + 1]) {
    size_t room = strlen("AWS4") + grant->size;
    char *first = x_printf("AWS4%s", grant->bytes);
    unsigned char mac[MAC_BYTES];
    mac_of((const unsigned char *)first, room, date, mac);
    mac_of(mac, sizeof mac, region, mac);
    mac_of(mac, sizeof mac, "s3", mac);
    mac_of(mac, sizeof mac, "aws4_request", mac);
    mac_of(mac, sizeof mac, text, mac);
    for (size_t i = 0; i < MAC_BYTES; i++) {
        snprintf(signature + 2 * i, 3, "%02x", mac[i]);
    }
    cloud_wipe(&first, room);
}

static char *make_authorization(const struct s3_place *place, const struct cloud_call *call,
                                const char *path, const struct cloud_grant *grant, const char *time,
                                const struct cloud_signed *request) {
    char digest[65], date[9], signature[2 * MAC_BYTES + 1];
    snprintf(date, sizeof date, "%.8s", time);
    AUTO(text_freep) char *names = make_names(call, grant);
    digest_request(place, call, path, names, request, digest);
    AUTO(text_freep) char *scope = x_printf("%s/%s/s3/aws4_request", date, place->region);
    AUTO(text_freep)
    char *text = x_printf("AWS4-HMAC-SHA256\n%s\n%s\n%s", time, scope, digest);
    sign_text(grant, date, place->region, text, signature);
    return x_printf("Authorization: AWS4-HMAC-SHA256 "
                    "Credential=%s/%s,SignedHeaders=%s,Signature=%s",
                    grant->name, scope, names, signature);
}

void s3_sign(const struct cloud_place *base, const struct cloud_call *call,
             const struct cloud_grant *grant, int64_t wall_ms, struct cloud_signed *ret_signed) {
    const struct s3_place *place = (const struct s3_place *)base;
    AUTO(text_freep)
    char *path = cloud_path(base, place->is_virtual ? NULL : place->bucket, call);
    char time[32];
    size_t count = 0;
    *ret_signed = (struct cloud_signed){0};
    format_time(wall_ms, time);
    add_signed(call, grant, time, ret_signed, &count);
    char *authorization = make_authorization(place, call, path, grant, time, ret_signed);
    ret_signed->headers[count++] = authorization;
    if (call->body) {
        ret_signed->headers[count++] = x_strdup("Content-Type: application/octet-stream");
    }
    cloud_add_conditions(call, ret_signed, &count);
    assert(count <= CLOUD_HEADERS_MAX);
    cloud_set_url(base, path, call, "", ret_signed);
}
