// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/token_roles.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

const char *const token_role_names[] = {"IDs", "Mask", "TypeIDs", "Positions"};
static_assert(ARRAY_LEN(token_role_names) == TOKEN_ROLE_COUNT, "one name per role");

static const struct {
    const char *name;
    enum token_role role;
} known[] = {
    {"input_ids", TOKEN_IDS},           {"input_word_ids", TOKEN_IDS},
    {"attention_mask", TOKEN_MASK},     {"input_mask", TOKEN_MASK},
    {"token_type_ids", TOKEN_TYPE_IDS}, {"segment_ids", TOKEN_TYPE_IDS},
    {"input_type_ids", TOKEN_TYPE_IDS}, {"position_ids", TOKEN_POSITIONS},
};

/* TensorFlow numbers the outputs of its nodes: "input_ids:0". */
static size_t bare_length(const char *name) {
    const char *colon = strrchr(name, ':');
    return colon && colon[1] && colon[1 + strspn(colon + 1, "0123456789")] == 0
               ? (size_t)(colon - name)
               : strlen(name);
}

bool token_role_find(const json_t *entry, const char *input, enum token_role *ret_role) {
    const char *given = json_string_value(json_object_get(entry, "tokens"));
    for (int i = 0; given && i < TOKEN_ROLE_COUNT; i++) {
        if (strcmp(given, token_role_names[i]) == 0) {
            *ret_role = (enum token_role)i;
            return true;
        }
    }
    size_t length = bare_length(input);
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        size_t size = strlen(known[i].name);
        if (size <= length && strncasecmp(input + length - size, known[i].name, size) == 0 &&
            (size == length || !isalnum((unsigned char)input[length - size - 1]))) {
            *ret_role = known[i].role;
            return true;
        }
    }
    return false;
}
