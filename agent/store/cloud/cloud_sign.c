// SPDX-License-Identifier: Apache-2.0
/* The parts of requests that all services have: addresses and conditions. */
#include "agent/store/cloud/cloud_client.h"

#include "lib/buffer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void cloud_append(struct buffer *buffer, const char *text) {
    struct error full = {0};
    if (buffer_append(buffer, text, strlen(text), &full) < 0) {
        abort(); /* names are bounded */
    }
}

void cloud_append_encoded(struct buffer *buffer, const char *text, const char *also_plain) {
    static const char hex[] = "0123456789ABCDEF";
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        char encoded[] = {'%', hex[byte >> 4], hex[byte & 15], 0};
        char same[] = {*text, 0};
        cloud_append(buffer, strchr(plain, *text) || strchr(also_plain, *text) ? same : encoded);
    }
}

void cloud_append_object(struct buffer *buffer, const struct cloud_place *place, const char *name) {
    cloud_append_encoded(buffer, place->folder, "/");
    cloud_append(buffer, *place->folder ? "/" : "");
    cloud_append_encoded(buffer, name, "/");
}

void cloud_append_query(struct buffer *buffer, const struct cloud_call *call) {
    for (size_t i = 0; i < CLOUD_PARAMETERS_MAX && call->parameters[i].name; i++) {
        cloud_append(buffer, i ? "&" : "");
        cloud_append(buffer, call->parameters[i].name);
        cloud_append(buffer, "=");
        cloud_append_encoded(buffer, call->parameters[i].value, "");
    }
}

char *cloud_path(const struct cloud_place *place, const char *container,
                 const struct cloud_call *call) {
    AUTO(buffer_release) struct buffer path;
    buffer_init(&path, CLOUD_TEXT_MAX);
    const char *below = strchr(place->endpoint + strlen("https://"), '/');
    cloud_append(&path, below ? below : "");
    cloud_append(&path, "/");
    cloud_append(&path, container ? container : "");
    if (call->name) {
        cloud_append(&path, container ? "/" : "");
        cloud_append_object(&path, place, call->name);
    }
    return buffer_take(&path, NULL);
}

void cloud_set_url(const struct cloud_place *place, const char *path, const struct cloud_call *call,
                   const char *hidden, struct cloud_signed *request) {
    AUTO(buffer_release) struct buffer url;
    buffer_init(&url, CLOUD_TEXT_MAX);
    size_t host_size = strcspn(place->endpoint + strlen("https://"), "/") + strlen("https://");
    AUTO(text_freep) char *host = x_strndup(place->endpoint, host_size);
    bool has_query = call->parameters[0].name;
    cloud_append(&url, host);
    cloud_append(&url, path);
    cloud_append(&url, has_query ? "?" : "");
    cloud_append_query(&url, call);
    cloud_append(&url, !*hidden ? "" : has_query ? "&" : "?");
    cloud_append(&url, hidden);
    request->url = buffer_take(&url, NULL);
    request->shown_url = x_strndup(request->url, strcspn(request->url, "?"));
}

char *cloud_quoted(const char *token) {
    return !token                    ? x_strdup("")
           : strcmp(token, "*") == 0 ? x_strdup(token)
                                     : x_printf("\"%s\"", token);
}

void cloud_add_conditions(const struct cloud_call *call, bool with_none,
                          struct cloud_signed *request, size_t *count) {
    assert(*count + 3 <= CLOUD_HEADERS_MAX);
    AUTO(text_freep) char *match = cloud_quoted(call->if_match);
    AUTO(text_freep) char *none = cloud_quoted(with_none ? call->if_none_match : NULL);
    if (*match) {
        request->headers[(*count)++] = x_printf("If-Match: %s", match);
    }
    if (*none) {
        request->headers[(*count)++] = x_printf("If-None-Match: %s", none);
    }
    if (call->range_size) {
        request->headers[(*count)++] =
            x_printf("Range: bytes=%lld-%lld", (long long)call->first_byte,
                     (long long)(call->first_byte + call->range_size - 1));
    }
}

void cloud_signed_release(struct cloud_signed *request) {
    if (request->url) {
        explicit_bzero(request->url, strlen(request->url));
        free(request->url);
    }
    free(request->shown_url);
    for (size_t i = 0; i < CLOUD_HEADERS_MAX && request->headers[i]; i++) {
        explicit_bzero(request->headers[i], strlen(request->headers[i]));
        free(request->headers[i]);
    }
    *request = (struct cloud_signed){0};
}
