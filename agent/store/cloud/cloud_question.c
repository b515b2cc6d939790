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

static bool is_near(const struct cloud_question *question, const char *address) {
    bool is_known = address_is_loopback(address);
    for (const char *const *one = question->addresses; *one; one++) {
        is_known = is_known || strcmp(address, *one) == 0;
    }
    return is_known;
}

/* A name's addresses, as curl takes them, each near. port: what follows the name in the URL. */
static int find_near_name(const struct cloud_question *question, const char *name, const char *port,
                          struct resolver *resolver, char **ret_route, struct error *err) {
    AUTO(text_freep) char *addresses = NULL;
    if (resolver_find(resolver, name, RESOLVE_MS, &addresses, err) < 0) {
        err->kind = ERROR_UNAVAILABLE; /* it comes from a variable and may exist */
        return -1;
    }
    AUTO(text_freep) char *list = x_strdup(addresses);
    char *rest = list;
    for (const char *each; (each = strsep(&rest, ","));) {
        if (!is_near(question, each)) {
            return error_set(err, ERROR_DENIED,
                             "%s is \"%.80s\", which has the address %.60s, expected %s or a "
                             "loopback address",
                             question->variable, question->url, each, question->addresses[0]);
        }
    }
    int number = *port == ':' ? (int)MIN(strtol(port + 1, NULL, 10), 65536L) : 80;
    *ret_route = x_printf("%s:%d:%s", name, number, addresses);
    return 0;
}

/* This machine or node: nothing else is asked in plain. *ret_route: of a name. */
static int find_near(const struct cloud_question *question, struct resolver *resolver,
                     char **ret_route, struct error *err) {
    static const char scheme[] = "http://";
    bool is_plain = text_starts(question->url, scheme) && !strpbrk(question->url, "?#@");
    const char *host = is_plain ? question->url + strlen(scheme) : "";
    bool has_brackets = *host == '[';
    host += has_brackets;
    size_t length = strcspn(host, has_brackets ? "]" : ":/");
    AUTO(text_freep) char *name = x_strndup(host, length);
    if (is_near(question, name)) {
        return 0;
    }
    if (question->takes_names && length && !has_brackets && !address_is_plain_ipv4(name) &&
        !address_is_refused_host(name)) {
        return find_near_name(question, name, host + length, resolver, ret_route, err);
    }
    return error_set(err, ERROR_INVALID,
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
    bool is_plain = question->addresses != NULL;
    if ((is_plain ? find_near(question, resolver, &route, err)
                  : find_route(question, resolver, &route, err)) < 0) {
        return -1;
    }
    struct http_request request = {.url = question->url,
                                   .method = question->method,
                                   .headers = question->headers,
                                   .body = question->form,
                                   .body_size = question->form ? strlen(question->form) : 0,
                                   .borrows_body = true,
                                   .is_http1 = true,
                                   .authorities_file = is_plain ? NULL : question->authorities_file,
                                   .resolve = route,
                                   .timeout_ms = is_plain ? NEAR_MS : TRY_MS,
                                   .bytes_max = ANSWER_BYTES_MAX};
    return http_get(&request, ret_status, ret_body, err);
}
