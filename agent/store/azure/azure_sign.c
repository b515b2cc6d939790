// SPDX-License-Identifier: Apache-2.0
/* Builds a request, and signs it with Shared Key ("Authorize with Shared Key",
 * learn.microsoft.com). */
#include "agent/store/azure/azure_store.h"

#include "lib/digest.h"
#include "lib/text/base64.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API_VERSION "2021-12-02"

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

static void values_init(struct values *values, const struct cloud_call *call, int64_t wall_ms) {
    *values = (struct values){.if_match = cloud_quoted(call->if_match),
                              .if_none_match = cloud_quoted(call->if_none_match)};
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

/* A blob in one request; others have a "comp". */
static bool puts_blob(const struct cloud_call *call) {
    return strcmp(call->method, "PUT") == 0 && !call->parameters[0].name;
}

static bool deletes(const struct cloud_call *call) {
    return strcmp(call->method, "DELETE") == 0;
}

static char *make_authorization(const struct azure_place *place, const struct cloud_call *call,
                                const char *path, const struct values *values,
                                const struct cloud_grant *grant) {
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, CLOUD_TEXT_MAX);
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
        cloud_append(&text, lines[i]);
        cloud_append(&text, "\n");
    }
    cloud_append(&text, puts_blob(call) ? "x-ms-blob-type:BlockBlob\n" : "");
    cloud_append(&text, "x-ms-date:");
    cloud_append(&text, values->date);
    cloud_append(&text, deletes(call) ? "\nx-ms-delete-snapshots:include" : "");
    cloud_append(&text, "\nx-ms-version:" API_VERSION "\n/");
    cloud_append(&text, place->account);
    cloud_append(&text, path);
    for (size_t i = 0; i < CLOUD_PARAMETERS_MAX && call->parameters[i].name; i++) {
        assert(i == 0 || strcmp(call->parameters[i - 1].name, call->parameters[i].name) < 0);
        cloud_append(&text, "\n");
        cloud_append(&text, call->parameters[i].name);
        cloud_append(&text, ":");
        cloud_append(&text, call->parameters[i].value);
    }
    unsigned char mac[32];
    digest_hmac_sha256(grant->bytes, grant->size, text.data, text.size, mac);
    AUTO(text_freep) char *signature = base64_encode(mac, sizeof mac);
    return x_printf("Authorization: SharedKey %s:%s", place->account, signature);
}

void azure_sign(const struct cloud_place *base, const struct cloud_call *call,
                const struct cloud_grant *grant, int64_t wall_ms, struct cloud_signed *ret_signed) {
    const struct azure_place *place = (const struct azure_place *)base;
    AUTO(text_freep) char *path = cloud_path(base, place->container, call);
    size_t count = 0;
    *ret_signed = (struct cloud_signed){0};
    char **headers = ret_signed->headers;
    AUTO(values_release) struct values values;
    values_init(&values, call, wall_ms);
    headers[count++] = x_strdup("x-ms-version: " API_VERSION);
    headers[count++] = x_printf("x-ms-date: %s", values.date);
    if (call->body) {
        headers[count++] = x_strdup("Content-Type: application/octet-stream");
    }
    if (puts_blob(call)) {
        headers[count++] = x_strdup("x-ms-blob-type: BlockBlob");
    }
    if (deletes(call)) {
        headers[count++] = x_strdup("x-ms-delete-snapshots: include");
    }
    cloud_add_conditions(call, /* with_none= */ true, ret_signed, &count);
    if (grant->kind == AZURE_KEY) {
        headers[count++] = make_authorization(place, call, path, &values, grant);
    } else if (grant->kind == AZURE_TOKEN) {
        headers[count++] = x_printf("Authorization: Bearer %s", grant->bytes);
    }
    assert(count <= CLOUD_HEADERS_MAX);
    cloud_set_url(base, path, call, grant->kind == AZURE_SAS ? grant->bytes : "", ret_signed);
}
