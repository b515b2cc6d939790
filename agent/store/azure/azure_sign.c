// SPDX-License-Identifier: Apache-2.0
/* Builds a request, and signs it with Shared Key ("Authorize with Shared Key",
 * learn.microsoft.com). */
#include "agent/store/azure/azure_client.h"

#include "lib/digest.h"
#include "lib/text/base64.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API_VERSION "2021-12-02"

enum { REQUEST_TEXT_MAX = 64 << 10 };

static void append(struct buffer *buffer, const char *text) {
    struct error full = {0};
    if (buffer_append(buffer, text, strlen(text), &full) < 0) {
        abort(); /* names are bounded */
    }
}

static void append_encoded(struct buffer *buffer, const char *text, const char *also_plain) {
    static const char hex[] = "0123456789ABCDEF";
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        char encoded[] = {'%', hex[byte >> 4], hex[byte & 15], 0};
        char same[] = {*text, 0};
        append(buffer, strchr(plain, *text) || strchr(also_plain, *text) ? same : encoded);
    }
}

void azure_signed_release(struct azure_signed *request) {
    if (request->url) {
        explicit_bzero(request->url, strlen(request->url));
        free(request->url);
    }
    free(request->shown_url);
    for (size_t i = 0; i < AZURE_HEADERS_MAX && request->headers[i]; i++) {
        explicit_bzero(request->headers[i], strlen(request->headers[i]));
        free(request->headers[i]);
    }
    *request = (struct azure_signed){0};
}

/* ---- the address ---------------------------------------------------------------------------- */

/* Shared Key signs the path of the URL, so both use this function. */
static char *make_path(const struct azure_place *place, const struct azure_call *call) {
    AUTO(buffer_release) struct buffer path;
    buffer_init(&path, REQUEST_TEXT_MAX);
    const char *below = strchr(place->endpoint + strlen("https://"), '/');
    append(&path, below ? below : "");
    append(&path, "/");
    append(&path, place->container);
    if (call->name) {
        append(&path, "/");
        append_encoded(&path, place->folder, "/");
        append(&path, *place->folder ? "/" : "");
        append_encoded(&path, call->name, "/");
    }
    return buffer_take(&path, NULL);
}

static char *make_url(const struct azure_place *place, const struct azure_call *call,
                      const char *path, const struct azure_grant *grant) {
    AUTO(buffer_release) struct buffer url;
    buffer_init(&url, REQUEST_TEXT_MAX);
    size_t host_size = strcspn(place->endpoint + strlen("https://"), "/") + strlen("https://");
    AUTO(text_freep) char *host = x_strndup(place->endpoint, host_size);
    append(&url, host);
    append(&url, path);
    const char *sign = "?";
    for (size_t i = 0; i < AZURE_PARAMETERS_MAX && call->parameters[i].name; i++, sign = "&") {
        append(&url, sign);
        append(&url, call->parameters[i].name);
        append(&url, "=");
        append_encoded(&url, call->parameters[i].value, "");
    }
    if (grant->kind == AZURE_SAS) {
        append(&url, sign);
        append(&url, grant->bytes);
    }
    return buffer_take(&url, NULL);
}

/* ---- headers -------------------------------------------------------------------------------- */

/* As in "Fri, 26 Jun 2015 23:39:12 GMT", independent of the locale. */
static void format_date(int64_t wall_ms, char text[static 32]) {
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm date;
    gmtime_r(&seconds, &date);
    snprintf(text, 32, "%s, %02u %s %04u %02u:%02u:%02u GMT", days[date.tm_wday],
             (unsigned)date.tm_mday % 100, months[date.tm_mon],
             (unsigned)(date.tm_year + 1900) % 10000, (unsigned)date.tm_hour % 100,
             (unsigned)date.tm_min % 100, (unsigned)date.tm_sec % 100);
}

/* The values that Shared Key signs; "" for headers that are not sent. */
struct values {
    char length[24], range[64], date[32];
    char *if_match, *if_none_match;
};

static char *quoted(const char *token) {
    return !token                    ? x_strdup("")
           : strcmp(token, "*") == 0 ? x_strdup(token)
                                     : x_printf("\"%s\"", token);
}

static void values_init(struct values *values, const struct azure_call *call, int64_t wall_ms) {
    *values = (struct values){.if_match = quoted(call->if_match),
                              .if_none_match = quoted(call->if_none_match)};
    format_date(wall_ms, values->date);
    if (call->body_size) {
        snprintf(values->length, sizeof values->length, "%zu", call->body_size);
    }
    if (call->range_size) {
        snprintf(values->range, sizeof values->range, "bytes=%lld-%lld",
                 (long long)call->first_byte, (long long)(call->first_byte + call->range_size - 1));
    }
}

static void values_release(struct values *values) {
    free(values->if_match);
    free(values->if_none_match);
}

static bool deletes(const struct azure_call *call) {
    return strcmp(call->method, "DELETE") == 0;
}

static char *make_authorization(const struct azure_place *place, const struct azure_call *call,
                                const char *path, const struct values *values,
                                const struct azure_grant *grant) {
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, REQUEST_TEXT_MAX);
    /* method, encoding, language, length, MD5, type, date, if-modified-since, if-match,
     * if-none-match, if-unmodified-since, range */
    const char *const lines[] = {call->method,
                                 "",
                                 "",
                                 values->length,
                                 "",
                                 call->body ? "application/octet-stream" : "",
                                 "",
                                 "",
                                 values->if_match,
                                 values->if_none_match,
                                 "",
                                 values->range};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        append(&text, lines[i]);
        append(&text, "\n");
    }
    if (call->blob_type) {
        append(&text, "x-ms-blob-type:");
        append(&text, call->blob_type);
        append(&text, "\n");
    }
    append(&text, "x-ms-date:");
    append(&text, values->date);
    append(&text, deletes(call) ? "\nx-ms-delete-snapshots:include" : "");
    append(&text, "\nx-ms-version:" API_VERSION "\n/");
    append(&text, place->account);
    append(&text, path);
    for (size_t i = 0; i < AZURE_PARAMETERS_MAX && call->parameters[i].name; i++) {
        assert(i == 0 || strcmp(call->parameters[i - 1].name, call->parameters[i].name) < 0);
        append(&text, "\n");
        append(&text, call->parameters[i].name);
        append(&text, ":");
        append(&text, call->parameters[i].value);
    }
    unsigned char mac[32];
    digest_hmac_sha256(grant->bytes, grant->size, text.data, text.size, mac);
    AUTO(text_freep) char *signature = base64_encode(mac, sizeof mac);
    return x_printf("Authorization: SharedKey %s:%s", place->account, signature);
}

void azure_sign(const struct azure_place *place, const struct azure_call *call,
                const struct azure_grant *grant, int64_t wall_ms, struct azure_signed *ret_signed) {
    AUTO(text_freep) char *path = make_path(place, call);
    size_t count = 0;
    *ret_signed = (struct azure_signed){0};
    char **headers = ret_signed->headers;
    AUTO(values_release) struct values values;
    values_init(&values, call, wall_ms);
    headers[count++] = x_strdup("x-ms-version: " API_VERSION);
    headers[count++] = x_printf("x-ms-date: %s", values.date);
    if (call->body) {
        headers[count++] = x_strdup("Content-Type: application/octet-stream");
    }
    if (call->blob_type) {
        headers[count++] = x_printf("x-ms-blob-type: %s", call->blob_type);
    }
    if (deletes(call)) {
        headers[count++] = x_strdup("x-ms-delete-snapshots: include");
    }
    if (*values.if_match) {
        headers[count++] = x_printf("If-Match: %s", values.if_match);
    }
    if (*values.if_none_match) {
        headers[count++] = x_printf("If-None-Match: %s", values.if_none_match);
    }
    if (*values.range) {
        headers[count++] = x_printf("Range: %s", values.range);
    }
    if (grant->kind == AZURE_KEY) {
        headers[count++] = make_authorization(place, call, path, &values, grant);
    } else if (grant->kind == AZURE_TOKEN) {
        headers[count++] = x_printf("Authorization: Bearer %s", grant->bytes);
    }
    assert(count <= AZURE_HEADERS_MAX);
    ret_signed->url = make_url(place, call, path, grant);
    ret_signed->shown_url = x_strndup(ret_signed->url, strcspn(ret_signed->url, "?"));
}
