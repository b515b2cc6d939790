// SPDX-License-Identifier: Apache-2.0
/* Fetches a token for Azure Blob Storage. */
#include "agent/store/azure/azure_secret.h"

#include "agent/store/cloud/cloud_question.h"
#include "lib/buffer.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_BYTES_MAX = 64 << 10 };

/* The kubelet replaces the file every hour: it is read each time. */
static int make_form(const struct azure_place *place, struct buffer *form, struct error *err) {
    char *assertion = NULL;
    if (cloud_mounted_token(place->token_file, &assertion, err) < 0) {
        return -1;
    }
    cloud_add_field(form, "client_id", place->client_id);
    cloud_add_field(form, "scope", "https://storage.azure.com/.default");
    cloud_add_field(form, "client_assertion_type",
                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    cloud_add_field(form, "client_assertion", assertion);
    cloud_add_field(form, "grant_type", "client_credentials");
    cloud_wipe(&assertion, strlen(assertion));
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

static int ask(const struct azure_place *place, struct resolver *resolver, const char *form,
               int *ret_status, char **ret_body, struct error *err) {
    AUTO(text_freep)
    char *url = x_printf("%s%s%s/oauth2/v2.0/token", place->authority,
                         text_ends(place->authority, "/") ? "" : "/", place->tenant_id);
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded",
                                          "Accept: application/json", NULL};
    const struct cloud_question question = {.url = url,
                                            .method = "POST",
                                            .headers = headers,
                                            .form = form,
                                            .authorities_file = place->base.authorities_file,
                                            .variable = "AZURE_AUTHORITY_HOST"};
    return cloud_question_ask(&question, resolver, ret_status, ret_body, err);
}

int azure_token_fetch(const struct azure_place *place, struct resolver *resolver, char **ret_token,
                      int64_t *ret_lasts_ms, struct error *err) {
    struct buffer form;
    char *body = NULL;
    int status = 0;
    buffer_init(&form, TOKEN_BYTES_MAX);
    int result = make_form(place, &form, err);
    if (result == 0) {
        result = ask(place, resolver, form.data, &status, &body, err);
    }
    if (result == 0) {
        result = status == 200 ? read_answer(body, ret_token, ret_lasts_ms, err)
                               : refuse(status, body, err);
    }
    cloud_wipe(&body, body ? strlen(body) : 0);
    if (form.data) {
        explicit_bzero(form.data, form.size);
    }
    buffer_release(&form);
    return result;
}
