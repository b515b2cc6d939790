// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/complaint.h"

#include "lib/secret.h"
#include "lib/text/utf8.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_MAX = 64 << 10 };

static const char *word_of(int status) {
    static const struct {
        int status;
        const char *word;
    } words[] = {{400, "Bad Request"},        {401, "Unauthorized"},
                 {403, "Forbidden"},          {404, "Not Found"},
                 {405, "Method Not Allowed"}, {408, "Request Timeout"},
                 {413, "Content Too Large"},  {422, "Unprocessable Content"},
                 {429, "Too Many Requests"},  {500, "Internal Server Error"},
                 {502, "Bad Gateway"},        {503, "Service Unavailable"},
                 {504, "Gateway Timeout"}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (words[i].status == status) {
            return words[i].word;
        }
    }
    return "an error";
}

static json_t *parse(const char *body, size_t size) {
    struct error ignored = {0};
    json_t *tree = NULL;
    return size > 0 && size <= BODY_MAX && tree_parse(body, size, BODY_MAX, &tree, &ignored) == 0
               ? tree
               : NULL;
}

static const char *message_of(const json_t *tree) {
    static const char *const places[] = {"error.message", "error", "message", "detail",
                                         "detail[0].msg"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const char *text = tree_text(tree, places[i], NULL);
        if (text && *text) {
            return text;
        }
    }
    return NULL;
}

void complaint_read(int status, const char *body, size_t size, const char *secret,
                    char text[static COMPLAINT_MAX]) {
    AUTO(tree_freep) json_t *tree = parse(body, size);
    const char *message = message_of(tree);
    size_t length = message ? strlen(message) : tree ? 0 : size;
    const char *from = message ? message : body;
    /* Masked before it is cut, so that no part of a key is left. */
    length = MIN(length, (size_t)COMPLAINT_MAX + (secret ? strlen(secret) : 0));
    AUTO(text_freep) char *masked = x_malloc(length + 1);
    memcpy(masked, from, length);
    secret_mask(masked, length, secret);
    length = MIN(length, (size_t)(COMPLAINT_MAX - 48));
    int head =
        snprintf(text, COMPLAINT_MAX, "%d %s%s", status, word_of(status), length > 0 ? ": " : "");
    memcpy(text + head, masked, length);
    text[head + (int)length] = 0;
    utf8_make_line(text);
}

bool complaint_is_of_model(const char *body, size_t size) {
    static const char *const places[] = {"error.code", "error.type", "type", "code"};
    AUTO(tree_freep) json_t *tree = parse(body, size);
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const char *code = tree_text(tree, places[i], "");
        if (strcmp(code, "model_not_found") == 0 || strcmp(code, "invalid_model") == 0) {
            return true;
        }
    }
    return false;
}
