// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/npy_input.h"

#include "agent/data/source/source.h"
#include "lib/text/jsontext.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_BYTES = 32 << 20 /* maximum of the values that a reader holds, unless one slice is
                             larger */
};

/* ---- listing -------------------------------------------------------------------------------- */

struct walk {
    struct source source;
    const char *pattern;
    int64_t batch; /* slices of a line */
    struct npy first;
    char first_name[STORE_NAME_MAX + 1]; /* of the first array; "": none yet */
    int64_t lines;
    struct buffer text;
    input_line *line;
    void *context;
};

static bool are_alike(const struct npy *a, const struct npy *b) {
    return a->type == b->type && a->rank == b->rank &&
           memcmp(a->dims + 1, b->dims + 1, (size_t)(a->rank - 1) * sizeof *a->dims) == 0;
}

static int open_array(struct walk *walk, const char *name, struct npy *ret_npy,
                      struct store_info *ret_info, struct error *err) {
    if (npy_open(walk->source.store, name, ret_npy, ret_info, err) < 0) {
        return -1;
    }
    if (!walk->first_name[0]) {
        snprintf(walk->first_name, sizeof walk->first_name, "%s", name);
        walk->first = *ret_npy;
    }
    return are_alike(ret_npy, &walk->first)
               ? 0
               : error_set(err, ERROR_INVALID,
                           "%s/%s: its slices have another type or shape than those of %s",
                           store_path(walk->source.store), name, walk->first_name);
}

/* Adds the array's lines from this slice on. */
static int add_array(struct walk *walk, const char *name, int64_t from, struct error *err) {
    struct npy npy;
    struct store_info info;
    if (open_array(walk, name, &npy, &info, err) < 0) {
        return -1;
    }
    for (int64_t first = from; first < npy.dims[0];) {
        char cursor[STORE_NAME_MAX + 24];
        int64_t end = first + MIN(walk->batch, npy.dims[0] - first);
        buffer_clear(&walk->text);
        if (buffer_append(&walk->text, "[\"", 2, err) < 0 ||
            jsontext_escape(&walk->text, name, strlen(name), err) < 0 ||
            buffer_printf(&walk->text, err, "\",%lld,%lld,\"", (long long)first, (long long)end) <
                0 ||
            jsontext_escape(&walk->text, info.token, strlen(info.token), err) < 0 ||
            buffer_append(&walk->text, "\"]", 2, err) < 0) {
            return -1;
        }
        snprintf(cursor, sizeof cursor, "%lld %s", (long long)end, name);
        walk->lines++;
        if (walk->line(walk->context, walk->text.data, walk->text.size, cursor, err) < 0) {
            return -1;
        }
        first = end;
    }
    return 0;
}

static int on_file(void *context, const char *name, struct error *err) {
    return add_array(context, name, 0, err);
}

/* after: "64 x.npy": continues with the rest of that file and the files after it. */
static int walk_files(struct walk *walk, const char *after, struct error *err) {
    char *name = NULL;
    if (after) {
        errno = 0;
        int64_t end = strtoll(after, &name, 10);
        if (errno || end < 0 || *name != ' ' || !name[1]) {
            return error_set(err, ERROR_INVALID, "\"%s\" is not a position in the input", after);
        }
        if (add_array(walk, ++name, end, err) < 0) {
            return -1;
        }
    }
    if (source_list(&walk->source, walk->pattern, name, on_file, walk, err) < 0) {
        return -1;
    }
    return walk->lines || after
               ? 0
               : error_set(
                     err, ERROR_INVALID,
                     "%s: no array in it matches spec.input.npy.pattern \"%s\" and has slices",
                     store_path(walk->source.store), walk->pattern);
}

static int npy_list(const struct input_listing *listing, input_line *line, void *context,
                    struct error *err) {
    struct walk walk = {.pattern = tree_text(listing->spec, "input.npy.pattern", ""),
                        .batch = MAX(tree_integer(listing->spec, "miniBatchSize", 0), 1),
                        .line = line,
                        .context = context};
    struct error cause = {0};
    int result = -1;
    buffer_init(&walk.text, INPUT_LINE_MAX);
    if (source_open(tree_text(listing->spec, "input.npy.path", ""), &walk.source, &cause) == 0) {
        walk.source.leave = listing->left_out ? source_leave_count : NULL;
        walk.source.leave_context = listing->left_out;
        result = walk_files(&walk, listing->after, &cause);
    }
    source_release(&walk.source);
    buffer_release(&walk.text);
    if (result < 0) {
        *err = cause;
        error_context(err, "spec.input.npy.path");
    }
    return result;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct input_reader {
    struct source source;
    const json_t *lines; /* borrowed */
    size_t line;         /* the line that is being read */
    int64_t next;        /* its next slice; -1: its first */
    struct npy npy;
    void *values;
    struct npy_range held; /* the slices in `values` */
    char fault[512];       /* the fault of all slices of the line; "": none */
    char name[STORE_NAME_MAX + 32];
};

static enum item_type npy_item(const json_t *spec UNUSED) {
    return ITEM_TENSOR;
}

static void npy_reader_free(struct input_reader *reader) {
    if (reader) {
        source_release(&reader->source);
        free(reader->values);
        free(reader);
    }
}

static const char *name_of(const json_t *line) {
    return json_string_value(json_array_get(line, 0));
}

static int64_t number_of(const json_t *line, size_t at) {
    const json_t *number = json_array_get(line, at);
    return json_is_integer(number) ? json_integer_value(number) : -1;
}

static bool are_ranges(const json_t *lines) {
    size_t i;
    json_t *line;
    bool is_sound = json_is_array(lines);
    json_array_foreach(lines, i, line) {
        const char *name = name_of(line);
        is_sound = is_sound && name && *name && strlen(name) <= STORE_NAME_MAX &&
                   number_of(line, 1) >= 0 && number_of(line, 2) > number_of(line, 1) &&
                   json_is_string(json_array_get(line, 3));
    }
    return is_sound;
}

static int64_t npy_line_items(const json_t *line) {
    return MAX(number_of(line, 2) - number_of(line, 1), (int64_t)0);
}

static int npy_reader_open(const json_t *spec, const json_t *lines, struct input_reader **reader,
                           struct error *err) {
    struct input_reader *it = TAKE(*reader);
    if (!are_ranges(lines)) {
        npy_reader_free(it);
        return error_set(err, ERROR_INVALID, "the lease does not name slices of arrays");
    }
    if (!it) {
        it = x_calloc(1, sizeof *it);
        if (source_open(tree_text(spec, "input.npy.path", ""), &it->source, err) < 0) {
            npy_reader_free(it);
            return error_context(err, "spec.input.npy.path");
        }
    }
    it->lines = lines;
    it->line = 0;
    it->next = -1;
    *reader = it;
    return 0;
}

static int refuse_changed(const struct input_reader *reader, const char *name, struct error *err) {
    return error_set(err, ERROR_CONFLICT,
                     "spec.input.npy.path: %s/%s: has changed since it was listed",
                     store_path(reader->source.store), name);
}

/* Decides whether an error is the item's fault or fails with *err. */
static int assign_fault(struct input_reader *reader, const char *name, const struct error *cause,
                        struct error *err) {
    if (cause->kind == ERROR_CONFLICT) {
        return refuse_changed(reader, name, err);
    }
    if (store_error_is_machine(cause)) {
        *err = *cause;
        return error_context(err, "spec.input.npy.path");
    }
    snprintf(reader->fault, sizeof reader->fault, "%s", cause->text);
    return 0;
}

static int begin_line(struct input_reader *reader, const json_t *line, struct error *err) {
    const char *name = name_of(line);
    struct store_info info;
    struct error cause = {0};
    reader->next = number_of(line, 1);
    reader->held.count = 0;
    reader->fault[0] = 0;
    if (npy_open(reader->source.store, name, &reader->npy, &info, &cause) < 0) {
        return assign_fault(reader, name, &cause, err);
    }
    bool is_same = strcmp(info.token, json_string_value(json_array_get(line, 3))) == 0;
    return is_same && number_of(line, 2) <= reader->npy.dims[0] ? 0
                                                                : refuse_changed(reader, name, err);
}

/* Reads slices from the next one on, as many as fit in READ_BYTES. */
static int hold(struct input_reader *reader, const json_t *line, struct error *err) {
    int64_t bytes = npy_slice_values(&reader->npy) * (int64_t)npy_value_bytes(reader->npy.type);
    int64_t most = MAX(READ_BYTES / bytes, (int64_t)1), left = number_of(line, 2) - reader->next;
    struct error cause = {0};
    reader->held = (struct npy_range){reader->next, MIN(most, left)};
    free(TAKE(reader->values));
    const struct npy_object object = {reader->source.store, name_of(line), &reader->npy,
                                      json_string_value(json_array_get(line, 3))};
    if (npy_read(&object, reader->held, &reader->values, &cause) < 0) {
        return assign_fault(reader, name_of(line), &cause, err);
    }
    return 0;
}

static void show(const struct input_reader *reader, struct item *item) {
    const struct npy *npy = &reader->npy;
    size_t slice_bytes = (size_t)npy_slice_values(npy) * npy_value_bytes(npy->type);
    item->slice =
        (struct npy_slice){.type = npy->type,
                           .rank = npy->rank - 1,
                           .values = (const char *)reader->values +
                                     (size_t)(reader->next - reader->held.first) * slice_bytes};
    memcpy(item->slice.dims, npy->dims + 1, (size_t)(npy->rank - 1) * sizeof *npy->dims);
}

static int npy_reader_next(struct input_reader *reader, struct item *item, struct error *err) {
    const json_t *line = json_array_get(reader->lines, reader->line);
    if (!line) {
        return 0;
    }
    if (reader->next < 0 && begin_line(reader, line, err) < 0) {
        return -1;
    }
    bool is_held = reader->held.count && reader->next < reader->held.first + reader->held.count;
    if (!reader->fault[0] && !is_held && hold(reader, line, err) < 0) {
        return -1;
    }
    snprintf(reader->name, sizeof reader->name, "%s[%lld]", name_of(line), (long long)reader->next);
    *item = (struct item){
        .type = ITEM_TENSOR, .name = reader->name, .origin = name_of(line), .row = reader->next};
    if (reader->fault[0]) {
        item->fault = reader->fault;
    } else {
        show(reader, item);
    }
    if (++reader->next == number_of(line, 2)) {
        reader->line++;
        reader->next = -1;
    }
    return 1;
}

const struct input_kind npy_input = {
    .name = "npy",
    .is_batch = true,
    .item = npy_item,
    .list = npy_list,
    .reader_open = npy_reader_open,
    .reader_next = npy_reader_next,
    .line_items = npy_line_items,
    .reader_free = npy_reader_free,
};

const struct media npy_media = {.name = "npy", .unit = "slices", .lines = &npy_input};
