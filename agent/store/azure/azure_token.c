// SPDX-License-Identifier: Apache-2.0
/* Fetches a token for Azure Blob Storage. */
#include "agent/store/azure/azure_secret.h"

#include "lib/buffer.h"
#include "lib/file.h"
#include "lib/net/http.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOKEN_BYTES_MAX = 64 << 10,
    TRY_MS = 20000,
    RESOLVE_MS = 10000,
};

/* Encodes a value for a form (RFC 3986's unreserved characters are unchanged). */
static void append_encoded(struct buffer *form, const char *name, const char *value) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    struct error full = {0};
    int result = buffer_printf(form, &full, "%s%s=", form->size ? "&" : "", name);
    for (; result == 0 && *value; value++) {
        result = strchr(plain, *value)
                     ? buffer_append(form, value, 1, &full)
                     : buffer_printf(form, &full, "%%%02X", (unsigned char)*value);
    }
    if (result < 0) {
        abort(); /* the file was read with a maximum of a third of it */
    }
}

/* The kubelet replaces the file every hour: it is read each time. */
static int make_form(const struct azure_place *place, struct buffer *form, struct error *err) {
    char *assertion = NULL;
    size_t size = 0;
    if (file_read(place->token_file, TOKEN_BYTES_MAX / 4, &assertion, &size, err) < 0) {
        err->kind = ERROR_DENIED;
        return -1;
    }
    size_t length = strcspn(assertion, " \t\r\n");
    assertion[length] = 0;
    append_encoded(form, "client_id", place->client_id);
    append_encoded(form, "scope", "https://storage.azure.com/.default");
    append_encoded(form, "client_assertion_type",
                   "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    append_encoded(form, "client_assertion", assertion);
    append_encoded(form, "grant_type", "client_credentials");
    explicit_bzero(assertion, length);
    free(assertion);
    return 0;
}

/* The error shows only the code of a refusal and the number that Entra puts into its text. The text
 * itself may contain anything, including what we sent. */
static int refuse(int status, const char *body, struct error *err) {
    AUTO(tree_freep) json_t *answer = NULL;
    struct error unreadable = {0};
    char code[40] = "", number[20] = "";
    if (tree_parse(body, strlen(body), TOKEN_BYTES_MAX, &answer, &unreadable) == 0) {
        const char *told = tree_text(answer, "error", "");
        const char *found = strstr(tree_text(answer, "error_description", ""), "AADSTS");
        size_t length = strspn(told, "abcdefghijklmnopqrstuvwxyz_");
        snprintf(code, sizeof code, "%.*s", told[length] ? 0 : (int)length, told);
        if (found) {
            snprintf(number, sizeof number, "%.*s", (int)(6 + strspn(found + 6, "0123456789")),
                     found);
        }
    }
    return error_set(
        err, status == 400 || status == 401 || status == 403 ? ERROR_DENIED : ERROR_UNAVAILABLE,
        "cannot get a token for the workload identity: %d %s %s", status, code, number);
}

static int read_answer(const char *body, char **ret_token, int64_t *ret_lasts_ms,
                       struct error *err) {
    AUTO(tree_freep) json_t *answer = NULL;
    struct error unreadable = {0};
    if (tree_parse(body, strlen(body), TOKEN_BYTES_MAX, &answer, &unreadable) < 0) {
        return error_set(err, ERROR_UNAVAILABLE, "no token in the answer: not JSON");
    }
    const char *token = tree_text(answer, "access_token", "");
    int64_t lasts_s = tree_integer(answer, "expires_in", 0);
    if (!*token || strcspn(token, " \t\r\n") != strlen(token) || lasts_s < 1 ||
        lasts_s > 366 * 86400) {
        return error_set(
            err, ERROR_UNAVAILABLE,
            "invalid response to the token request: access_token or expires_in missing");
    }
    *ret_token = x_strdup(token);
    *ret_lasts_ms = lasts_s * 1000;
    return 0;
}

struct response {
    int status;
    char *body; /* owned */
};

static int ask(const struct azure_place *place, struct resolver *resolver, const char *url,
               const char *form, struct response *ret_response, struct error *err) {
    AUTO(text_freep) char *host = NULL, *addresses = NULL;
    int port = 0;
    if (!cloud_url_host(url, &host, &port)) {
        return error_set(err, ERROR_INVALID,
                         "AZURE_AUTHORITY_HOST is \"%.80s\", expected https:// and "
                         "a host",
                         place->authority);
    }
    if (resolver_find(resolver, host, RESOLVE_MS, &addresses, err) < 0) {
        err->kind = ERROR_UNAVAILABLE; /* the host comes from a variable and may exist */
        return -1;
    }
    if (cloud_check_addresses(host, host, err) < 0 ||
        cloud_check_addresses(host, addresses, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *route = x_printf("%s:%d:%s", host, port, addresses);
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded",
                                          "Accept: application/json", NULL};
    struct http_request request = {.url = url,
                                   .method = "POST",
                                   .headers = headers,
                                   .body = form,
                                   .body_size = strlen(form),
                                   .borrows_body = true,
                                   .is_http1 = true,
                                   .authorities_file = place->base.authorities_file,
                                   .resolve = strchr(host, ':') ? NULL : route,
                                   .timeout_ms = TRY_MS,
                                   .bytes_max = TOKEN_BYTES_MAX};
    return http_get(&request, &ret_response->status, &ret_response->body, err);
}

int azure_token_fetch(const struct azure_place *place, struct resolver *resolver, char **ret_token,
                      int64_t *ret_lasts_ms, struct error *err) {
    struct buffer form;
    buffer_init(&form, TOKEN_BYTES_MAX);
    AUTO(text_freep)
    char *url = x_printf("%s%s%s/oauth2/v2.0/token", place->authority,
                         text_ends(place->authority, "/") ? "" : "/", place->tenant_id);
    struct response response = {0};
    int result = make_form(place, &form, err);
    if (result == 0) {
        result = ask(place, resolver, url, form.data, &response, err);
    }
    if (result == 0) {
        result = response.status == 200 ? read_answer(response.body, ret_token, ret_lasts_ms, err)
                                        : refuse(response.status, response.body, err);
    }
    if (response.body) {
        explicit_bzero(response.body, strlen(response.body));
        free(response.body);
    }
    if (form.data) {
        explicit_bzero(form.data, form.size);
    }
    buffer_release(&form);
    return result;
}
