// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/score/score_set.h"

#include "operator/manifest.h"

#include <string.h>

static bool is_rooted(const char *field) {
    return text_starts(field, "spec.") || text_starts(field, "metadata.");
}

int score_set(json_t *manifest, const char *field, json_t *value, struct error *err) {
    AUTO(tree_freep) json_t *owned = value;
    json_t *at = is_rooted(field) ? manifest : tree_ensure_object(manifest, "spec");
    for (const char *rest = field; at;) {
        size_t length = strcspn(rest, ".");
        AUTO(text_freep) char *name = x_strndup(rest, length);
        if (length == 0 || strchr(name, '[')) {
            return error_set(err, ERROR_INVALID,
                             "%s: not a field; write names with dots between them (of a list set "
                             "the whole: FIELD=[a, b])",
                             field);
        }
        if (rest[length] == 0) {
            json_object_set(at, name, owned);
            return 0;
        }
        json_t *part = json_object_get(at, name);
        if (part && !json_is_object(part)) {
            return error_set(err, ERROR_INVALID, "%s: %s was set to a value before", field, name);
        }
        at = tree_ensure_object(at, name);
        rest += length + 1;
    }
    return 0;
}

int score_set_word(json_t *manifest, const char *word, struct error *err) {
    const char *equals = strchr(word, '=');
    AUTO(manifest_freep) struct manifest *read = NULL;
    if (!equals || equals == word) {
        return error_set(err, ERROR_INVALID, "--set %s: expected FIELD=VALUE", word);
    }
    AUTO(text_freep) char *field = x_strndup(word, (size_t)(equals - word));
    AUTO(text_freep) char *text = x_printf("value: %s\n", equals + 1);
    if (manifest_parse("value", text, strlen(text), &read, err) < 0) {
        return error_context(err, "--set %s", field);
    }
    json_t *value = read->count == 1 ? json_object_get(read->documents[0].tree, "value") : NULL;
    if (!value) {
        return error_set(err, ERROR_INVALID, "--set %s: expected FIELD=VALUE", word);
    }
    return score_set(manifest, field, json_incref(value), err) < 0 ? error_context(err, "--set")
                                                                   : 0;
}

int score_set_words(json_t *manifest, const struct option_list *words, struct error *err) {
    for (size_t i = 0; i < words->count; i++) {
        if (score_set_word(manifest, words->values[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

json_t *score_split(const char *text) {
    json_t *list = json_array();
    while (*text) {
        size_t length = strcspn(text, ",");
        AUTO(text_freep) char *one = x_strndup(text, length);
        json_array_append_new(list, json_string(one));
        text += length + (text[length] == ',');
    }
    return list;
}
