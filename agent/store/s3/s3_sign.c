// SPDX-License-Identifier: Apache-2.0
/* Builds a request, and signs it with Signature Version 4 ("Signature Calculations for the
 * Authorization Header", docs.aws.amazon.com), or Google's, which is the same with other words
 * ("Signatures", cloud.google.com/storage/docs/authentication). */
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

/* The words of a service. */
struct dialect {
    const char *headers;   /* how the names of its own headers begin */
    const char *algorithm; /* its part before the dash precedes the key, too */
    const char *scope;     /* of a signature, behind date and region: the service and the end */
};
static const struct dialect amazon = {"x-amz-", "AWS4-HMAC-SHA256", "s3/aws4_request"};
static const struct dialect google = {"x-goog-", "GOOG4-HMAC-SHA256", "storage/goog4_request"};

static const struct dialect *dialect_of(const struct s3_place *place) {
    return place->is_google ? &google : &amazon;
}

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

/* Google has a header of its own for what is to be made once, and refuses Amazon's beside it. */
static bool has_own_condition(const struct s3_place *place, const struct cloud_call *call) {
    return place->is_google && call->if_none_match && strcmp(call->if_none_match, "*") == 0;
}

/* All headers of the service's own must be signed, in the order of their names. */
static void add_signed(const struct s3_place *place, const struct cloud_call *call,
                       const struct cloud_grant *grant, const char *time,
                       struct cloud_signed *request, size_t *count) {
    const char *own = dialect_of(place)->headers;
    request->headers[(*count)++] = x_printf("%scontent-sha256:" PAYLOAD, own);
    request->headers[(*count)++] = x_printf("%sdate:%s", own, time);
    if (has_own_condition(place, call)) {
        request->headers[(*count)++] = x_printf("%sif-generation-match:0", own);
    }
    if (keeps_nonce(call)) {
        request->headers[(*count)++] = x_printf("%smeta-windlass:%s", own, call->nonce);
    }
    if (grant->session && !place->is_google) {
        request->headers[(*count)++] = x_printf("%ssecurity-token:%s", own, grant->session);
    }
}

/* "host;x-amz-content-sha256;...": of the headers that are there by now. */
static char *make_names(const struct cloud_signed *request) {
    AUTO(buffer_release) struct buffer names;
    buffer_init(&names, CLOUD_TEXT_MAX);
    cloud_append(&names, "host");
    for (size_t i = 0; request->headers[i]; i++) {
        const char *header = request->headers[i];
        AUTO(text_freep) char *name = x_strndup(header, strcspn(header, ":"));
        cloud_append(&names, ";");
        cloud_append(&names, name);
    }
    return buffer_take(&names, NULL);
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

/* scope: DATE/REGION/SERVICE/END, each of which makes the next key. */
static void sign_text(const char *algorithm, const struct cloud_grant *grant, const char *scope,
                      const char *text, char signature[static 2 * MAC_BYTES + 1]) {
    int prefix = (int)strcspn(algorithm, "-");
    size_t room = (size_t)prefix + grant->size;
    char *first = x_printf("%.*s%s", prefix, algorithm, grant->bytes);
    AUTO(text_freep) char *parts = x_strdup(scope);
    unsigned char mac[MAC_BYTES];
    char *rest = parts;
    const char *part = strsep(&rest, "/");
    mac_of((const unsigned char *)first, room, part, mac);
    while ((part = strsep(&rest, "/"))) {
        mac_of(mac, sizeof mac, part, mac);
    }
    mac_of(mac, sizeof mac, text, mac);
    for (size_t i = 0; i < MAC_BYTES; i++) {
        snprintf(signature + 2 * i, 3, "%02x", mac[i]);
    }
    cloud_wipe(&first, room);
}

static char *make_authorization(const struct s3_place *place, const struct cloud_call *call,
                                const char *path, const struct cloud_grant *grant, const char *time,
                                const struct cloud_signed *request) {
    const struct dialect *dialect = dialect_of(place);
    char digest[65], signature[2 * MAC_BYTES + 1];
    if (!grant->name) {
        return x_printf("Authorization: Bearer %s", grant->bytes);
    }
    AUTO(text_freep) char *names = make_names(request);
    digest_request(place, call, path, names, request, digest);
    AUTO(text_freep)
    char *scope = x_printf("%.8s/%s/%s", time, place->region, dialect->scope);
    AUTO(text_freep)
    char *text = x_printf("%s\n%s\n%s\n%s", dialect->algorithm, time, scope, digest);
    sign_text(dialect->algorithm, grant, scope, text, signature);
    return x_printf("Authorization: %s Credential=%s/%s,SignedHeaders=%s,Signature=%s",
                    dialect->algorithm, grant->name, scope, names, signature);
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
    add_signed(place, call, grant, time, ret_signed, &count);
    char *authorization = make_authorization(place, call, path, grant, time, ret_signed);
    ret_signed->headers[count++] = authorization;
    if (call->body) {
        ret_signed->headers[count++] = x_strdup("Content-Type: application/octet-stream");
    }
    cloud_add_conditions(call, !has_own_condition(place, call), ret_signed, &count);
    assert(count <= CLOUD_HEADERS_MAX);
    cloud_set_url(base, path, call, "", ret_signed);
}
