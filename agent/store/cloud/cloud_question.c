// SPDX-License-Identifier: Apache-2.0
#include "agent/store/cloud/cloud_question.h"

#include "agent/store/cloud/cloud_secret.h"
#include "lib/file.h"
#include "lib/net/address.h"
#include "lib/net/http.h"

#include <stdlib.h>
#include <string.h>

enum {
    TOKEN_BYTES_MAX = 16 << 10,
    ANSWER_BYTES_MAX = 64 << 10,
    TRY_MS = 20000,
    NEAR_MS = 5000, /* of a service of this machine or node */
    RESOLVE_MS = 10000,
};

void cloud_add_field(struct buffer *form, const char *name, const char *value) {
    static const char hex[] = "0123456789ABCDEF";
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    struct error full = {0};
    int result = buffer_printf(form, &full, "%s%s=", form->size ? "&" : "", name);
    for (; result == 0 && *value; value++) {
        unsigned char byte = (unsigned char)*value;
        char encoded[] = {'%', hex[byte >> 4], hex[byte & 15]};
        result = strchr(plain, *value) ? buffer_append(form, value, 1, &full)
                                       : buffer_append(form, encoded, sizeof encoded, &full);
    }
    if (result < 0) {
        abort(); /* what is encoded was read with a maximum */
    }
}

int cloud_mounted_token(const char *path, char **ret_token, struct error *err) {
    char *token = NULL;
    size_t size = 0;
    if (file_read(path, TOKEN_BYTES_MAX, &token, &size, err) < 0) {
        err->kind = ERROR_DENIED;
        return -1;
    }
    size_t start = strspn(token, " \t\r\n");
    size_t length = strcspn(token + start, " \t\r\n");
    bool is_word = length && start + length + strspn(token + start + length, " \t\r\n") == size;
    for (size_t i = start; i < start + length; i++) {
        is_word = is_word && token[i] > ' ' && token[i] < 127;
    }
    if (is_word) {
        *ret_token = x_strndup(token + start, length);
    }
    cloud_wipe(&token, size);
    return is_word ? 0 : error_set(err, ERROR_DENIED, "%s: one word, a token, is expected", path);
}

/* An address of this machine or node, which needs no resolver: nothing else is asked in plain. */
static int find_near(const struct cloud_question *question, struct error *err) {
    static const char scheme[] = "http://";
    bool is_plain = text_starts(question->url, scheme) && !strpbrk(question->url, "?#@");
    const char *host = is_plain ? question->url + strlen(scheme) : "";
    bool has_brackets = *host == '[';
    host += has_brackets;
    AUTO(text_freep) char *name = x_strndup(host, strcspn(host, has_brackets ? "]" : ":/"));
    bool is_near = address_is_loopback(name);
    for (const char *const *one = question->addresses; *one; one++) {
        is_near = is_near || strcmp(name, *one) == 0;
    }
    return is_near ? 0
                   : error_set(err, ERROR_INVALID,
                               "%s is \"%.80s\", expected http:// and %s or a loopback address",
                               question->variable, question->url, question->addresses[0]);
}

/* The addresses of a host of the network, as curl takes them; NULL: an IPv6 address is in the URL.
 */
static int find_route(const struct cloud_question *question, struct resolver *resolver,
                      char **ret_route, struct error *err) {
    AUTO(text_freep) char *host = NULL, *addresses = NULL;
    int port = 0;
    if (!cloud_url_host(question->url, &host, &port)) {
        return error_set(err, ERROR_INVALID, "%s is \"%.80s\", expected https:// and a host",
                         question->variable, question->url);
    }
    if (resolver_find(resolver, host, RESOLVE_MS, &addresses, err) < 0) {
        err->kind = ERROR_UNAVAILABLE; /* the host comes from a variable and may exist */
        return -1;
    }
    if (cloud_check_addresses(host, host, err) < 0 ||
        cloud_check_addresses(host, addresses, err) < 0) {
        return -1;
    }
    *ret_route = strchr(host, ':') ? NULL : x_printf("%s:%d:%s", host, port, addresses);
    return 0;
}

int cloud_question_ask(const struct cloud_question *question, struct resolver *resolver,
                       int *ret_status, char **ret_body, struct error *err) {
    AUTO(text_freep) char *route = NULL;
    bool is_near = question->addresses != NULL;
    if ((is_near ? find_near(question, err) : find_route(question, resolver, &route, err)) < 0) {
        return -1;
    }
    struct http_request request = {.url = question->url,
                                   .method = question->method,
                                   .headers = question->headers,
                                   .body = question->form,
                                   .body_size = question->form ? strlen(question->form) : 0,
                                   .borrows_body = true,
                                   .is_http1 = true,
                                   .authorities_file = is_near ? NULL : question->authorities_file,
                                   .resolve = route,
                                   .timeout_ms = is_near ? NEAR_MS : TRY_MS,
                                   .bytes_max = ANSWER_BYTES_MAX};
    return http_get(&request, ret_status, ret_body, err);
}
