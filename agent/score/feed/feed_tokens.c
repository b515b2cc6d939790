// SPDX-License-Identifier: Apache-2.0
/* The tokens of a text: their ids, which of them are not padding, their types and positions. */
#include "agent/data/text/token_roles.h"
#include "agent/score/feed/texts.h"

#include <stdlib.h>
#include <string.h>

#define FIELD "spec.scorer.onnx.inputs"

struct feed {
    const struct feed_input *inputs;
    size_t count;
    enum token_role *roles; /* of each input */
    struct texts *texts;
    struct tokenizer_padding padding;
    bool has_mask;
    int64_t fixed;                  /* the network's number of tokens; -1: any */
    struct tokenizer_tokens tokens; /* of the taken item; padded only if the network has no mask */
    int64_t own;                    /* the number of them that are not padding */
};

static void tokens_free(struct feed *feed) {
    if (feed) {
        texts_free(feed->texts);
        free(feed->roles);
        free(feed);
    }
}

static void tokens_freep(struct feed **feed) {
    tokens_free(*feed);
}

static const json_t *find_entry(const json_t *spec, const char *input) {
    return tree_find(tree_get(spec, "scorer.onnx.inputs"), "name", input);
}

static int check_input(const struct feed_input *input, struct error *err) {
    char text[128];
    shape_format(&input->shape, text);
    bool fits = !input->strings && input->shape.rank == 2 && input->shape.dims[1] != 0 &&
                (input->type == TENSOR_INT64 || input->type == TENSOR_INT32);
    return fits ? 0
                : error_set(err, ERROR_INVALID,
                            "spec.scorer.onnx.path: the network's input %.64s is %s %s, for tokens "
                            "int64 or int32 [n, tokens] is expected",
                            input->name, input->strings ? "strings" : tensor_type_name(input->type),
                            text);
}

/* Two inputs that only their names make the same may be of two texts. */
static int find_roles(struct feed *feed, const json_t *spec, struct error *err) {
    const char *named[TOKEN_ROLE_COUNT] = {NULL};
    for (size_t i = 0; i < feed->count; i++) {
        const char *name = feed->inputs[i].name;
        const json_t *entry = find_entry(spec, name);
        enum token_role role = TOKEN_IDS;
        (void)token_role_find(entry, name, &role);
        if (!entry && named[role]) {
            return error_set(err, ERROR_INVALID,
                             FIELD ": the network's inputs %.64s and %.64s look alike; say what "
                                   "feeds each ({name: %.64s, tokens: %s} for the tokenizer's "
                                   "text)",
                             named[role], name, name, token_role_names[role]);
        }
        named[role] = entry ? named[role] : name;
        feed->roles[i] = role;
        feed->has_mask = feed->has_mask || role == TOKEN_MASK;
    }
    return 0;
}

/* The inputs' second axes must be the same. */
static int find_length(struct feed *feed, struct error *err) {
    feed->fixed = -1;
    for (size_t i = 0; i < feed->count; i++) {
        int64_t tokens = feed->inputs[i].shape.dims[1];
        if (check_input(&feed->inputs[i], err) < 0) {
            return -1;
        }
        if (tokens > 0 && feed->fixed > 0 && tokens != feed->fixed) {
            return error_set(err, ERROR_INVALID,
                             "spec.scorer.onnx.path: the network's input %.64s takes %lld tokens, "
                             "another one %lld",
                             feed->inputs[i].name, (long long)tokens, (long long)feed->fixed);
        }
        feed->fixed = tokens > 0 ? tokens : feed->fixed;
    }
    return 0;
}

static int tokens_open(const struct feed_options *options, struct feed **ret_feed,
                       struct error *err) {
    AUTO(tokens_freep) struct feed *feed = x_calloc(1, sizeof *feed);
    *feed = (struct feed){.inputs = options->inputs,
                          .count = options->count,
                          .roles = x_calloc(options->count, sizeof *feed->roles)};
    if (!tree_get(options->spec, "scorer.onnx.tokenizer")) {
        return error_set(err, ERROR_INVALID,
                         "%s.tokens: needs scorer.onnx.tokenizer, which makes tokens of texts",
                         options->field);
    }
    if (find_roles(feed, options->spec, err) < 0 || find_length(feed, err) < 0 ||
        texts_open(options->spec, MAX(feed->fixed, 0), &feed->texts, err) < 0) {
        return -1;
    }
    feed->padding = texts_padding(feed->texts);
    *ret_feed = TAKE(feed);
    return 0;
}

/* A network with a mask gets padding only as far as its runs need it; another one sees padding, so
 * it gets what the tokenizer's file says. */
static int tokens_take(struct feed *feed, const struct feed_item *item, struct error *err) {
    struct tokenizer_tokens *tokens = &feed->tokens;
    if (texts_take(feed->texts, item, tokens, err) < 0) {
        return -1;
    }
    size_t own = 0, first = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        own += tokens->mask[i];
    }
    while (first < tokens->count && !tokens->mask[first]) {
        first++;
    }
    if (own > 0 && (feed->has_mask || feed->fixed > 0)) {
        tokens->ids += first;
        tokens->types += first;
        tokens->mask += first;
        tokens->count = own;
    }
    feed->own = (int64_t)own;
    return 0;
}

/* What all inputs measure. */
static int64_t length_of(const struct feed *feed) {
    return feed->fixed > 0 ? feed->fixed : (int64_t)feed->tokens.count;
}

static int tokens_measure(const struct feed *feed, size_t index, struct tensor *ret_values,
                          bool *ret_is_shared, struct error *err UNUSED) {
    *ret_is_shared = false;
    ret_values->type = feed->inputs[index].type;
    ret_values->shape = (struct shape){2, {1, length_of(feed)}};
    return 0;
}

static bool tokens_pad(const struct feed *feed, size_t index UNUSED) {
    return feed->has_mask;
}

static int32_t value_of(const struct feed *feed, enum token_role role, size_t at) {
    switch (role) {
    case TOKEN_IDS:
        return feed->tokens.ids[at];
    case TOKEN_MASK:
        return feed->tokens.mask[at];
    case TOKEN_TYPE_IDS:
        return feed->tokens.types[at];
    default:
        return (int32_t)at;
    }
}

static int32_t padding_of(const struct feed *feed, enum token_role role) {
    return role == TOKEN_IDS ? feed->padding.id : role == TOKEN_TYPE_IDS ? feed->padding.type : 0;
}

static void tokens_fill(const struct feed *feed, size_t index, const struct shape *shape,
                        void *values) {
    enum token_role role = feed->roles[index];
    size_t count = feed->tokens.count, all = (size_t)shape->dims[1];
    size_t first = feed->padding.is_left ? all - count : 0;
    int32_t padding = padding_of(feed, role);
    for (size_t i = 0; i < all; i++) {
        bool is_own = i >= first && i < first + count;
        int32_t value = is_own ? value_of(feed, role, i - first) : padding;
        if (feed->inputs[index].type == TENSOR_INT64) {
            ((int64_t *)values)[i] = value;
        } else {
            ((int32_t *)values)[i] = value;
        }
    }
}

static void tokens_files(const struct feed *feed, json_t *files) {
    texts_add_digest(feed->texts, files);
}

static void tokens_columns(const struct feed *feed, json_t *names) {
    texts_add_columns(feed->texts, names);
}

static struct feed_span tokens_span(const struct feed *feed) {
    return (struct feed_span){
        .count = feed->own, .all = length_of(feed), .is_last = feed->padding.is_left};
}

const struct feed_kind feed_tokens = {
    .name = "tokens",
    .open = tokens_open,
    .take = tokens_take,
    .measure = tokens_measure,
    .fill = tokens_fill,
    .pads = tokens_pad,
    .files = tokens_files,
    .columns = tokens_columns,
    .span = tokens_span,
    .free = tokens_free,
};
