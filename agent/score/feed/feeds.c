// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/feeds.h"

#include "agent/data/text/token_roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD "spec.scorer.onnx.inputs"

enum {
    ROW_BYTES_MAX = 64 << 20,
    FIELD_BYTES = sizeof FIELD + 24,
};

static const struct feed_kind *const feed_kinds[] = {&feed_picture, &feed_columns,  &feed_tokens,
                                                     &feed_array,   &feed_constant, &feed_steps,
                                                     &feed_state};

/* A feed and the inputs of the network that it has. */
struct source {
    const struct feed_kind *kind;
    struct feed *feed;
    struct feed_input *inputs; /* owned, copies */
    char field[FIELD_BYTES];
    bool is_default; /* of inputs without an entry */
    size_t count;
};

struct port {
    size_t source, index; /* the input's, in the source */
    int state;            /* output of the network; -1: no state */
    bool is_bare;         /* a picture's, and has no axis for the items */
};

struct feeds {
    struct feeds_options options;
    size_t count; /* of the network's inputs */
    struct feed_input *inputs;
    struct port *ports;     /* of each input */
    struct source *sources; /* at most one for each input */
    size_t source_count;
    bool has_states;
    bool is_bare;  /* an input of pictures has no axis for the items */
    int64_t fixed; /* items of a run; -1: any number */
    json_t *row;   /* the taken one */
};

/* ---- which source feeds an input ------------------------------------------------------------- */

static const struct feed_kind *default_kind(const struct feeds *feeds) {
    switch (feeds->options.item) {
    case ITEM_PICTURE:
        return &feed_picture;
    case ITEM_TENSOR:
        return &feed_array;
    case ITEM_PATH:
        return &feed_tokens;
    default:
        return &feed_columns;
    }
}

static bool fits_items(const struct feed_kind *kind, enum item_type item) {
    bool is_of_steps = kind == &feed_state && (item == ITEM_JSON || item == ITEM_TENSOR);
    return kind == &feed_constant || is_of_steps ||
           (kind == &feed_picture && item == ITEM_PICTURE) ||
           ((kind == &feed_columns || kind == &feed_steps) && item == ITEM_JSON) ||
           (kind == &feed_tokens && (item == ITEM_JSON || item == ITEM_PATH)) ||
           (kind == &feed_array && item == ITEM_TENSOR);
}

/* The entry's source. INVALID: it has none or several, or one that is not for these items. */
static int find_kind(const struct feeds *feeds, const json_t *entry, size_t at,
                     const struct feed_kind **ret_kind, struct error *err) {
    const struct feed_kind *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(feed_kinds); i++) {
        if (json_object_get(entry, feed_kinds[i]->name)) {
            found = feed_kinds[i];
            count++;
        }
    }
    if (count != 1) {
        return error_set(err, ERROR_INVALID,
                         FIELD "[%zu]: exactly one of picture, columns, tokens, array, constant, "
                               "steps and state is expected",
                         at);
    }
    *ret_kind = found;
    return fits_items(found, feeds->options.item)
               ? 0
               : error_set(err, ERROR_INVALID,
                           FIELD "[%zu].%s: the items of this input are not of that kind: %s or "
                                 "constant is expected",
                           at, found->name, default_kind(feeds)->name);
}

static const json_t *find_entry(const json_t *entries, const char *name, size_t *ret_at) {
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *named = json_string_value(json_object_get(entry, "name"));
        if (named && strcmp(named, name) == 0) {
            *ret_at = i;
            return entry;
        }
    }
    return NULL;
}

/* Every entry is an input's. */
static int check_names(const struct feeds *feeds, const json_t *entries, struct error *err) {
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(entries, i), "name"));
        bool is_there = false;
        for (size_t k = 0; k < feeds->count && name; k++) {
            is_there = is_there || strcmp(feeds->inputs[k].name, name) == 0;
        }
        if (!is_there) {
            return error_set(err, ERROR_INVALID,
                             FIELD "[%zu].name: the network has no input \"%.64s\" "
                                   "(`windlass-agent model check` lists them)",
                             i, name ? name : "");
        }
    }
    return 0;
}

/* Adds an input to the source at `at`, which may be a new one. */
static void add_input(struct feeds *feeds, size_t at, const struct feed_kind *kind, size_t input) {
    struct source *source = &feeds->sources[at];
    if (at == feeds->source_count) {
        feeds->source_count++;
        source->kind = kind;
        source->inputs = x_calloc(feeds->count, sizeof *source->inputs);
    }
    feeds->ports[input] = (struct port){.source = at, .index = source->count};
    source->inputs[source->count++] = feeds->inputs[input];
}

/* The kind of an input without an entry. With a tokenizer only columns that are named are meant. */
static int find_default(const struct feeds *feeds, const struct feed_input *input,
                        const struct feed_kind **ret_kind, struct error *err) {
    enum token_role ignored;
    const json_t *spec = feeds->options.spec;
    bool has_tokenizer = tree_get(spec, "scorer.onnx.tokenizer");
    *ret_kind = default_kind(feeds);
    if (has_tokenizer && token_role_find(NULL, input->name, &ignored)) {
        *ret_kind = &feed_tokens;
        return 0;
    }
    return !has_tokenizer || (*ret_kind == &feed_columns && tree_get(spec, "scorer.onnx.columns"))
               ? 0
               : error_set(
                     err, ERROR_INVALID,
                     FIELD
                     ": what feeds the network's input %.64s? By their names only " TOKEN_ROLE_NAMES
                     " are known; name it here ({name: %.64s, tokens: "
                     "IDs}, Mask, TypeIDs or Positions; columns or constant)",
                     input->name, input->name);
}

/* The source for one more input: that of the other tokens, or of the other inputs without an entry;
 * each other entry has one of its own. */
static size_t find_source(const struct feeds *feeds, const struct feed_kind *kind,
                          const json_t *entry) {
    for (size_t i = 0; i < feeds->source_count; i++) {
        const struct source *source = &feeds->sources[i];
        if (source->kind == kind && (kind == &feed_tokens || (!entry && source->is_default))) {
            return i;
        }
    }
    return feeds->source_count;
}

static int assign(struct feeds *feeds, const json_t *entries, struct error *err) {
    for (size_t i = 0; i < feeds->count; i++) {
        const struct feed_kind *kind = NULL;
        size_t at = 0;
        const json_t *entry = find_entry(entries, feeds->inputs[i].name, &at);
        if ((entry ? find_kind(feeds, entry, at, &kind, err)
                   : find_default(feeds, &feeds->inputs[i], &kind, err)) < 0) {
            return -1;
        }
        size_t source = find_source(feeds, kind, entry);
        if (source == feeds->source_count) {
            snprintf(feeds->sources[source].field, FIELD_BYTES, entry ? FIELD "[%zu]" : FIELD, at);
            feeds->sources[source].is_default = !entry;
        }
        add_input(feeds, source, kind, i);
    }
    return 0;
}

/* ---- states ---------------------------------------------------------------------------------- */

static int find_output(const struct feeds *feeds, const char *name) {
    for (size_t i = 0; i < session_output_count(feeds->options.session); i++) {
        if (strcmp(session_output(feeds->options.session, i), name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Which output each state is. */
static int find_states(struct feeds *feeds, const json_t *entries, struct error *err) {
    for (size_t i = 0; i < feeds->count; i++) {
        size_t at = 0;
        const json_t *entry = find_entry(entries, feeds->inputs[i].name, &at);
        const char *output = json_string_value(json_object_get(entry, "state"));
        feeds->ports[i].state = output ? find_output(feeds, output) : -1;
        feeds->has_states = feeds->has_states || output;
        if (output && feeds->ports[i].state < 0) {
            return error_set(err, ERROR_INVALID,
                             FIELD "[%zu].state: the network has no output \"%.64s\" "
                                   "(`windlass-agent model check` lists them)",
                             at, output);
        }
    }
    return 0;
}

/* Puts an axis for the steps behind that of the items. */
static int add_steps(struct feeds *feeds, struct error *err) {
    for (size_t i = 0; i < feeds->count; i++) {
        const struct port *port = &feeds->ports[i];
        const struct source *source = &feeds->sources[port->source];
        struct shape *shape = &source->inputs[port->index].shape;
        if (source->kind == &feed_steps && !feeds->has_states) {
            return error_set(err, ERROR_INVALID,
                             "%s.steps: the network goes through a list step by step only with a "
                             "state beside it ({name: x, state: OUTPUT}); columns is expected",
                             source->field);
        }
        if (!feeds_in_steps(feeds, i)) {
            continue;
        }
        if ((source->kind != &feed_steps && source->kind != &feed_array) || shape->rank < 1 ||
            shape->rank == TENSOR_RANK_MAX || shape->dims[0] > 1) {
            return error_set(err, ERROR_INVALID,
                             FIELD ": beside a state each input takes one step of one item: steps "
                                   "(of a table) or an array [1, ...] is expected for input "
                                   "\"%.64s\"",
                             feeds->inputs[i].name);
        }
        memmove(shape->dims + 2, shape->dims + 1, (size_t)(shape->rank - 1) * sizeof *shape->dims);
        shape->dims[1] = -1;
        shape->rank++;
    }
    return 0;
}

/* Gives the input of a picture [c, h, w] or [h, w, c] an axis for the items, as others have it. */
static void add_items(struct feeds *feeds) {
    for (size_t i = 0; i < feeds->count; i++) {
        struct port *port = &feeds->ports[i];
        const struct source *source = &feeds->sources[port->source];
        if (source->kind == &feed_picture && feed_is_bare_picture(&feeds->inputs[i])) {
            feed_add_items(&feeds->inputs[i].shape);
            source->inputs[port->index].shape = feeds->inputs[i].shape;
            port->is_bare = true;
            feeds->is_bare = true;
        }
    }
}

static int open_sources(struct feeds *feeds, const json_t *entries, struct error *err) {
    for (size_t i = 0; i < feeds->source_count; i++) {
        struct source *source = &feeds->sources[i];
        size_t at = 0;
        const struct feed_options options = {
            .spec = feeds->options.spec,
            .entry = find_entry(entries, source->inputs->name, &at),
            .field = source->field,
            .inputs = source->inputs,
            .count = source->count,
            .has_bytes = feeds->options.has_bytes,
        };
        if (source->kind == &feed_picture && source->count > 1) {
            return error_set(err, ERROR_INVALID,
                             "spec.scorer.onnx.path: the network has %zu inputs; a picture feeds "
                             "one of them, what feeds %.64s? Name it in " FIELD " (`windlass "
                             "explain batchscore.spec.scorer.onnx.inputs`)",
                             feeds->count, source->inputs[1].name);
        }
        if (source->kind->open(&options, &source->feed, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Inputs with an axis for the items must have the same number of them. */
static int find_items(struct feeds *feeds, struct error *err) {
    bool is_found = false;
    feeds->fixed = -1;
    for (size_t i = 0; i < feeds->count; i++) {
        const struct feed_input *input = &feeds->inputs[i];
        const struct source *source = &feeds->sources[feeds->ports[i].source];
        int64_t items = input->shape.rank > 0 ? input->shape.dims[0] : 0;
        int64_t most = source->kind == &feed_picture ? FEEDS_MOST_PICTURES : FEEDS_MOST_FIXED;
        if ((source->kind == &feed_constant && items >= 0) || source->kind == &feed_state) {
            continue; /* it is the same for all items, or of one */
        }
        if (items == 0 || items > most || (is_found && items != feeds->fixed)) {
            return error_set(err, ERROR_INVALID,
                             "spec.scorer.onnx.path: the network's input %.64s has no axis for "
                             "the items, a fixed one above %lld, or another size of it than the "
                             "other inputs",
                             input->name, (long long)most);
        }
        feeds->fixed = items;
        is_found = true;
    }
    return is_found ? 0
                    : error_set(err, ERROR_INVALID,
                                FIELD ": no input of the network depends on the items");
}

/* ---- life ------------------------------------------------------------------------------------ */

static void name_inputs(struct feeds *feeds) {
    for (size_t i = 0; i < feeds->count; i++) {
        struct feed_input *input = &feeds->inputs[i];
        input->name = session_input(feeds->options.session, i, &input->type, &input->shape);
        input->strings = session_input_strings(feeds->options.session, i);
    }
}

static void feeds_freep(struct feeds **feeds) {
    feeds_free(*feeds);
}

int feeds_new(const struct feeds_options *options, struct feeds **ret_feeds, struct error *err) {
    AUTO(feeds_freep) struct feeds *feeds = x_calloc(1, sizeof *feeds);
    const json_t *entries = tree_get(options->spec, "scorer.onnx.inputs");
    size_t count = session_input_count(options->session);
    *feeds = (struct feeds){.options = *options,
                            .count = count,
                            .inputs = x_calloc(count, sizeof *feeds->inputs),
                            .ports = x_calloc(count, sizeof *feeds->ports),
                            .sources = x_calloc(count, sizeof *feeds->sources)};
    if (count == 0 || session_output_count(options->session) == 0) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.path: the network has %zu inputs and %zu outputs, at "
                         "least one of each is expected",
                         count, session_output_count(options->session));
    }
    name_inputs(feeds);
    if (check_names(feeds, entries, err) < 0 || assign(feeds, entries, err) < 0 ||
        find_states(feeds, entries, err) < 0 || add_steps(feeds, err) < 0) {
        return -1;
    }
    add_items(feeds);
    if (open_sources(feeds, entries, err) < 0 || find_items(feeds, err) < 0) {
        return -1;
    }
    *ret_feeds = TAKE(feeds);
    return 0;
}

void feeds_free(struct feeds *feeds) {
    if (feeds) {
        for (size_t i = 0; i < feeds->source_count; i++) {
            if (feeds->sources[i].feed) {
                feeds->sources[i].kind->free(feeds->sources[i].feed);
            }
            free(feeds->sources[i].inputs);
        }
        free(feeds->sources);
        free(feeds->ports);
        free(feeds->inputs);
        json_decref(feeds->row);
        free(feeds);
    }
}

size_t feeds_count(const struct feeds *feeds) {
    return feeds->count;
}

int64_t feeds_fixed(const struct feeds *feeds) {
    return feeds->fixed;
}

bool feeds_have_states(const struct feeds *feeds) {
    return feeds->has_states;
}

bool feeds_in_steps(const struct feeds *feeds, size_t index) {
    const struct feed_kind *kind = feeds->sources[feeds->ports[index].source].kind;
    return feeds->has_states && kind != &feed_state && kind != &feed_constant;
}

int feeds_state(const struct feeds *feeds, size_t index) {
    return feeds->ports[index].state;
}

void feeds_strip(const struct feeds *feeds, struct tensor *inputs) {
    for (size_t i = 0; i < feeds->count; i++) {
        struct shape *shape = &inputs[i].shape;
        if (feeds->ports[i].is_bare) {
            memmove(shape->dims, shape->dims + 1, (size_t)--shape->rank * sizeof *shape->dims);
        }
    }
}

void feeds_restore(const struct feeds *feeds, struct tensor *outputs) {
    for (size_t i = 0; feeds->is_bare && i < session_output_count(feeds->options.session); i++) {
        feed_add_items(&outputs[i].shape);
    }
}

void feeds_files(const struct feeds *feeds, json_t *files) {
    for (size_t i = 0; i < feeds->source_count; i++) {
        if (feeds->sources[i].kind->files) {
            feeds->sources[i].kind->files(feeds->sources[i].feed, files);
        }
    }
}

json_t *feeds_columns(const struct feeds *feeds) {
    json_t *names = json_array();
    for (size_t i = 0; i < feeds->source_count; i++) {
        if (feeds->sources[i].kind->columns) {
            feeds->sources[i].kind->columns(feeds->sources[i].feed, names);
        }
    }
    return names;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* A sequence that does not fit fails here, by itself: once it runs, an error is the network's. */
static int check_steps(const struct feeds *feeds, struct error *err) {
    int64_t steps = -1;
    for (size_t i = 0; i < feeds->count; i++) {
        struct tensor values = {0};
        bool is_shared = false;
        if (!feeds_in_steps(feeds, i)) {
            continue;
        }
        if (feeds_measure(feeds, i, &values, &is_shared, err) < 0) {
            return -1;
        }
        int64_t count = values.shape.dims[FEEDS_STEPS_AXIS];
        if (steps >= 0 && count != steps) {
            return error_set(err, ERROR_INVALID,
                             "the network's input \"%.64s\" has %lld steps, another one has %lld",
                             feeds->inputs[i].name, (long long)count, (long long)steps);
        }
        steps = count;
    }
    return steps < 1 ? error_set(err, ERROR_INVALID, "the item has no steps") : 0;
}

/* Only where one source feeds all inputs: others need the tree in any case. */
static bool take_text(struct feeds *feeds, const struct item *item) {
    const struct source *source = &feeds->sources[0];
    return feeds->source_count == 1 && !feeds->has_states && source->kind->take_text &&
           source->kind->take_text(source->feed, item);
}

int feeds_take(struct feeds *feeds, const struct item *item, struct error *err) {
    struct feed_item taken = {.item = item};
    json_decref(TAKE(feeds->row));
    if (item->type == ITEM_JSON) {
        if (take_text(feeds, item)) {
            return 0;
        }
        if (tree_parse(item->text, item->text_size, ROW_BYTES_MAX, &feeds->row, err) < 0) {
            return -1;
        }
        taken.row = json_is_object(feeds->row) ? feeds->row : NULL;
    }
    for (size_t i = 0; i < feeds->source_count; i++) {
        if (feeds->sources[i].kind->take(feeds->sources[i].feed, &taken, err) < 0) {
            return -1;
        }
    }
    return feeds->has_states ? check_steps(feeds, err) : 0;
}

int feeds_check(const struct feeds *feeds, struct error *err) {
    for (size_t i = 0; i < feeds->source_count; i++) {
        const struct source *source = &feeds->sources[i];
        if (source->kind->check && source->kind->check(source->feed, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int feeds_measure(const struct feeds *feeds, size_t index, struct tensor *ret_values,
                  bool *ret_is_shared, struct error *err) {
    const struct port *port = &feeds->ports[index];
    const struct source *source = &feeds->sources[port->source];
    return source->kind->measure(source->feed, port->index, ret_values, ret_is_shared, err);
}

void feeds_fill(const struct feeds *feeds, size_t index, const struct shape *shape, void *values) {
    const struct port *port = &feeds->ports[index];
    const struct source *source = &feeds->sources[port->source];
    source->kind->fill(source->feed, port->index, shape, values);
}

bool feeds_pads(const struct feeds *feeds, size_t index) {
    const struct port *port = &feeds->ports[index];
    const struct source *source = &feeds->sources[port->source];
    return source->kind->pads && source->kind->pads(source->feed, port->index);
}

struct feed_span feeds_span(const struct feeds *feeds) {
    for (size_t i = 0; i < feeds->source_count; i++) {
        if (feeds->sources[i].kind->span) {
            return feeds->sources[i].kind->span(feeds->sources[i].feed);
        }
    }
    return (struct feed_span){0};
}

int64_t feeds_most(const struct feeds *feeds) {
    int64_t tokens = feeds_span(feeds).all;
    int64_t most_tokens =
        session_depth(feeds->options.session) > 1 ? FEEDS_MOST_TOKENS_STREAMS : FEEDS_MOST_TOKENS;
    return feeds->options.item == ITEM_PICTURE ? FEEDS_MOST_PICTURES
           : tokens > 0                        ? MAX(1, MIN(FEEDS_MOST, most_tokens / tokens))
                                               : FEEDS_MOST;
}

struct preprocess_size feeds_size(const struct feeds *feeds) {
    for (size_t i = 0; i < feeds->source_count; i++) {
        if (feeds->sources[i].kind->size) {
            return *feeds->sources[i].kind->size(feeds->sources[i].feed);
        }
    }
    return (struct preprocess_size){0};
}
