// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/parameters/spec_texts.h"

#include <string.h>

/* Of a member: what its texts are for. */
static enum spec_text_use use_of(const char *name, enum spec_text_use outside) {
    static const char *const of_programs[] = {"command", "prepare",  "arguments",  "args",
                                              "env",     "template", "environment"};
    for (size_t i = 0; i < ARRAY_LEN(of_programs); i++) {
        if (strcmp(of_programs[i], name) == 0) {
            return SPEC_TEXT_PROGRAM;
        }
    }
    return outside;
}

struct visit {
    spec_text_visitor *each;
    const void *context;
};

static bool is_left_out(const char *field) {
    return strcmp(field, "spec.after") == 0 || strcmp(field, "spec.parameters") == 0;
}

static int visit(const struct visit *how, const json_t *tree, const char *field,
                 enum spec_text_use use, struct error *err) {
    const char *name;
    json_t *child;
    if (json_is_string(tree)) {
        const struct spec_text text = {json_string_value(tree), field, use};
        return how->each(&text, how->context, err);
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        AUTO(text_freep) char *path = x_printf("%s[%zu]", field, i);
        if (visit(how, json_array_get(tree, i), path, use, err) < 0) {
            return -1;
        }
    }
    json_object_foreach((json_t *)tree, name, child) {
        AUTO(text_freep) char *path = x_printf("%s.%s", field, name);
        if (!is_left_out(path) && visit(how, child, path, use_of(name, use), err) < 0) {
            return -1;
        }
    }
    return 0;
}

int spec_texts_visit(const json_t *spec, spec_text_visitor *each, const void *context,
                     struct error *err) {
    return visit(&(struct visit){each, context}, spec, "spec", SPEC_TEXT_PATH, err);
}

struct filling {
    spec_text_filler *fill;
    const void *context;
};

static json_t *fill(const struct filling *how, const json_t *tree, enum spec_text_use use) {
    const char *name;
    json_t *child;
    if (json_is_string(tree)) {
        AUTO(text_freep) char *text = how->fill(json_string_value(tree), use, how->context);
        return text ? json_string(text) : json_incref((json_t *)tree);
    }
    if (!json_is_array(tree) && !json_is_object(tree)) {
        return json_incref((json_t *)tree);
    }
    json_t *copy = json_copy((json_t *)tree);
    for (size_t i = 0; i < json_array_size(tree); i++) {
        json_array_set_new(copy, i, fill(how, json_array_get(tree, i), use));
    }
    json_object_foreach((json_t *)tree, name, child) {
        json_object_set_new(copy, name, fill(how, child, use_of(name, use)));
    }
    return copy;
}

json_t *spec_texts_fill(const json_t *spec, spec_text_filler *filler, const void *context) {
    return fill(&(struct filling){filler, context}, spec, SPEC_TEXT_PATH);
}

const char *spec_text_find(const char *at, const char *opens) {
    while ((at = strchr(at, '$'))) {
        size_t dollars = strspn(at, "$");
        at += dollars;
        if (dollars % 2 == 1 && text_starts(at - 1, opens)) {
            return at - 1;
        }
    }
    return NULL;
}

bool spec_text_read(const char **at, const char *letters, char *out, size_t max) {
    size_t length = strspn(*at, letters);
    if (length == 0 || length > max) {
        return false;
    }
    memcpy(out, *at, length);
    out[length] = 0;
    *at += length;
    return true;
}

char *spec_text_place(const char *path, enum spec_text_use use) {
    if (use == SPEC_TEXT_PATH || strstr(path, "://")) {
        return x_strdup(path);
    }
    int length = (int)strcspn(path, "/");
    return x_printf("$(%.*s)%s", length, path, path + length);
}

bool spec_text_is_plain(const char *value) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "._/:=@+-";
    return value[strspn(value, plain)] == 0;
}
