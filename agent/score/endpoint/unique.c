// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/unique.h"

#include "agent/score/endpoint/request.h"
#include "lib/log.h"
#include "lib/number/keyed_hash.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20 };

struct look {
    const json_t *spec; /* with large blocks */
    const struct input_kind *kind;
    struct input_reader *reader;
    struct endpoint_request request;
    uint64_t *hashes;
    size_t count, room;
    int64_t lines, bad; /* lines: that are not empty */
    char first_bad[400];
    /* the second time */
    bool is_second;
    uint64_t twice; /* the hash that is there twice */
    char *id;       /* the custom_id of its first line */
    int64_t id_line;
};

static void add_hash(struct look *look, uint64_t hash) {
    if (look->count == look->room) {
        look->room = MAX(look->room * 2, (size_t)4096);
        look->hashes = x_realloc_array(look->hashes, look->room, sizeof *look->hashes);
    }
    look->hashes[look->count++] = hash;
}

/* Different names may have one hash: then the first of them is remembered, and the search goes on
 * with the next hash. */
static int compare(struct look *look, struct error *err) {
    const char *id = look->request.id.data;
    if (!look->id) {
        look->id = x_strdup(id);
        look->id_line = look->lines;
        return 0;
    }
    return strcmp(look->id, id) == 0
               ? error_set(err, ERROR_INVALID,
                           "lines %lld and %lld both have the custom_id "
                           "%.100s: give each line one of its own",
                           (long long)look->id_line, (long long)look->lines, id)
               : 0;
}

static int take_line(struct look *look, const struct item *item, struct error *err) {
    struct error why = {0};
    look->lines++;
    if (item->fault ||
        endpoint_request_of_line(item->text, item->text_size, &look->request, &why) < 0) {
        if (look->bad++ == 0) {
            snprintf(look->first_bad, sizeof look->first_bad, "line %lld: %.300s",
                     (long long)look->lines, item->fault ? item->fault : why.text);
        }
        return 0;
    }
    uint64_t hash = keyed_hash(look->request.id.data, look->request.id.size);
    if (!look->is_second) {
        add_hash(look, hash);
    }
    return look->is_second && hash == look->twice ? compare(look, err) : 0;
}

static int on_line(void *context, const char *line, size_t size, const char *cursor UNUSED,
                   struct error *err) {
    struct look *look = context;
    const char *tab = memchr(line, '\t', size);
    AUTO(tree_freep) json_t *parsed = NULL;
    if (tree_parse(line, tab ? (size_t)(tab - line) : size, INPUT_LINE_MAX, &parsed, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *lines = json_pack("[O]", parsed);
    if (look->kind->reader_open(look->spec, lines, &look->reader, err) < 0) {
        return -1;
    }
    for (;;) {
        struct item item = {0};
        int got = look->kind->reader_next(look->reader, &item, err);
        if (got <= 0) {
            return got;
        }
        if (take_line(look, &item, err) < 0) {
            return -1;
        }
    }
}

static int scan_input(struct look *look, struct error *err) {
    struct input_listing listing = {.spec = look->spec};
    look->lines = look->bad = 0;
    return look->kind->list(&listing, on_line, look, err);
}

static int by_value(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static int find_twice(struct look *look, struct error *err) {
    qsort(look->hashes, look->count, sizeof *look->hashes, by_value);
    look->is_second = true;
    for (size_t i = 1; i < look->count; i++) {
        if (look->hashes[i] != look->hashes[i - 1]) {
            continue;
        }
        look->twice = look->hashes[i];
        free(TAKE(look->id));
        if (scan_input(look, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int unique_check(const json_t *spec, const struct input_kind *kind, struct error *err) {
    AUTO(tree_freep) json_t *large = json_deep_copy(spec);
    json_object_set_new(large, "miniBatchBytes", json_integer(BLOCK_BYTES));
    json_object_del(large, "miniBatchSize");
    struct look look = {.spec = large, .kind = kind};
    endpoint_request_init(&look.request);
    int result = scan_input(&look, err);
    if (result == 0 && look.bad > 0) {
        log_event(LOG_WARNING,
                  "%lld of %lld lines are invalid requests and will fail; the first is %s",
                  (long long)look.bad, (long long)look.lines, look.first_bad);
    }
    result = result < 0 ? -1 : find_twice(&look, err);
    if (look.reader) {
        kind->reader_free(look.reader);
    }
    endpoint_request_release(&look.request);
    free(look.hashes);
    free(look.id);
    return result;
}
