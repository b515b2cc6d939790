// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/files_input.h"

#include "agent/data/input/fingerprint.h"
#include "agent/data/kinds/files_reader.h"
#include "agent/data/kinds/output_name.h"
#include "agent/data/source/input_manifest.h"
#include "agent/data/source/name_pattern.h"
#include "agent/data/source/sorter.h"
#include "agent/store/path.h"
#include "agent/store/store_many.h"
#include "lib/file.h"
#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIME_BYTES = 8, /* bytes of the time in a key, which is time, then path */
    PRINT_BYTES = FINGERPRINT_MAX,
    CLOCKS_DIFFER_MS = 60000,
};

struct walk {
    const struct input_listing *listing;
    struct store *store;
    const char *folder, *pattern; /* spec path */
    char *own_output;             /* the output's folder, whose names are skipped; NULL: none */
    int64_t found;
    struct output_name names;
    struct sorter *sorter;    /* order Modified */
    const char *after;        /* a cursor, in plain bytes */
    bool catches_up;          /* names up to `after` only count for names that collide with them */
    struct name_batch *named; /* of a manifest, those that are not added yet */
    struct buffer text;
    input_line *line;
    void *context;
};

/* ---- listing -------------------------------------------------------------------------------- */

/* A cursor is text, so a name that is not UTF-8 becomes its bytes in hexadecimal after "//", which
 * no name begins with. */
static char *make_cursor(const char *name) {
    size_t length = strlen(name);
    if (utf8_valid_size(name, length) == length) {
        return x_strdup(name);
    }
    char *cursor = x_malloc(2 * length + 3);
    memcpy(cursor, "//", 3);
    for (size_t i = 0; i < length; i++) {
        snprintf(cursor + 2 + 2 * i, 3, "%02x", (unsigned char)name[i]);
    }
    return cursor;
}

static char *read_cursor(const char *cursor) {
    if (!cursor || !text_starts(cursor, "//")) {
        return x_strdup(cursor);
    }
    size_t length = strlen(cursor + 2) / 2;
    char *name = x_calloc(length + 1, 1);
    for (size_t i = 0; i < length; i++) {
        char digits[3] = {cursor[2 + 2 * i], cursor[3 + 2 * i], 0};
        name[i] = (char)strtoul(digits, NULL, 16);
    }
    return name;
}

/* "caf\xe9.jpg": the name with the bytes that are not UTF-8 in hexadecimal. */
static char *make_legible(const char *name) {
    size_t left = strlen(name), size = 0;
    char *legible = x_malloc(4 * left + 1);
    while (left > 0) {
        size_t length = utf8_character(name, left);
        if (length) {
            memcpy(legible + size, name, length);
            size += length;
        } else {
            snprintf(legible + size, 5, "\\x%02x", (unsigned char)*name);
            size += 4;
        }
        left -= MAX(length, (size_t)1);
        name += MAX(length, (size_t)1);
    }
    legible[size] = 0;
    return legible;
}

static int add_string(struct walk *walk, const char *text, struct error *err) {
    return buffer_append(&walk->text, "\"", 1, err) < 0 ||
                   jsontext_escape(&walk->text, text, strlen(text), err) < 0 ||
                   buffer_append(&walk->text, "\"", 1, err) < 0
               ? -1
               : 0;
}

/* An item that cannot be scored is a line with the cause: {"name": ..., "fault": ...}. */
static int add_fault(struct walk *walk, const char *name, const char *fault, struct error *err) {
    AUTO(text_freep) char *legible = make_legible(name);
    return buffer_append(&walk->text, "{\"name\":", 8, err) < 0 ||
                   add_string(walk, legible, err) < 0 ||
                   buffer_append(&walk->text, ",\"fault\":", 9, err) < 0 ||
                   add_string(walk, fault, err) < 0 || buffer_append(&walk->text, "}", 1, err) < 0
               ? -1
               : 0;
}

/* What the file's content is known by. It is young if it may change without another fingerprint,
 * because it has just changed: its time would be the same. Times that are ahead of our clock by
 * more than clocks differ are not "just now". */
static void make_print(const struct walk *walk, const struct store_info *info,
                       char ret_print[static PRINT_BYTES]) {
    int64_t latest_ms = MAX(info->modified_ns, info->changed_ns) / 1000000;
    int64_t age_ms = clock_wall_ms() - latest_ms;
    int64_t tick_ms = walk->store ? store_features(walk->store).tick_ms : 0;
    bool is_young = tick_ms > 0 && age_ms < tick_ms && age_ms >= -CLOCKS_DIFFER_MS;
    fingerprint_make(info, !walk->store || store_features(walk->store).is_local, is_young,
                     ret_print);
}

/* fault: of a link; NULL: none. print: of the file, NULL: this storage has none. */
static int add_file(struct walk *walk, const char *name, const char *cursor, const char *fault,
                    const char *print, struct error *err) {
    char why[OUTPUT_NAME_WHY_MAX];
    AUTO(text_freep) char *legible = make_legible(fault ? fault : "");
    size_t length = strlen(name);
    int fits = 0;
    if (fault) {
        fault = legible;
    } else if (utf8_valid_size(name, length) != length) {
        fault = "its name is not UTF-8: rename it";
    } else {
        fits = output_name_fits(&walk->names, name, why, err);
        fault = why;
    }
    buffer_clear(&walk->text);
    if (walk->catches_up) {
        return MIN(fits, 0);
    }
    if (fits < 0 ||
        (fits > 0 ? add_string(walk, name, err) : add_fault(walk, name, fault, err)) < 0 ||
        (fits > 0 && print && buffer_printf(&walk->text, err, "\t%s", print) < 0)) {
        return -1;
    }
    walk->found++;
    return walk->line(walk->context, walk->text.data, walk->text.size, cursor, err);
}

/* Adds the key: the time in eight bytes that sort like the time, the path, a NUL, and either "p"
 * and the fingerprint or, of a link with a fault, whose time is 0, "f" and the fault. */
static int collect(struct walk *walk, const char *name, const struct store_info *info,
                   struct error *err) {
    char key[TIME_BYTES + STORE_NAME_MAX + 2 + sizeof(struct error)], print[PRINT_BYTES];
    if (!info->modified_ns && !info->fault) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s: this storage does not report when files were modified: "
                         "use spec.input.files.order Name",
                         walk->folder);
    }
    uint64_t time = (uint64_t)info->modified_ns ^ ((uint64_t)1 << 63);
    for (int i = 0; i < TIME_BYTES; i++) {
        key[i] = (char)(time >> (8 * (TIME_BYTES - 1 - i)));
    }
    make_print(walk, info, print);
    int size = snprintf(key + TIME_BYTES, sizeof key - TIME_BYTES, "%s%c%c%s", name, 0,
                        info->fault ? 'f' : 'p', info->fault ? info->fault : print);
    return sorter_add(walk->sorter, key,
                      TIME_BYTES + MIN((size_t)size, sizeof key - TIME_BYTES - 1), err);
}

/* (In the order of times, all names are read before the first line: a listing that continues has
 * them in its first page.) */
static void count_left_out(const struct walk *walk, const char *name,
                           const struct store_info *info) {
    int64_t *count = walk->listing->left_out;
    if (count && !(walk->sorter && walk->after) &&
        (info->is_folder || name_pattern_covers(walk->pattern, name))) {
        ++*count;
    }
}

static int on_name(void *context, const char *name, const struct store_info *info,
                   struct error *err) {
    struct walk *walk = context;
    if (info && info->is_left_out) {
        count_left_out(walk, name, info);
        return 0;
    }
    if ((walk->own_output && text_starts(name, walk->own_output)) ||
        (!name_pattern_matches(walk->pattern, name) &&
         !(info && (info->is_folder || info->is_beyond)))) {
        return 0;
    }
    if (walk->sorter) {
        return collect(walk, name, info, err);
    }
    AUTO(text_freep) char *cursor = make_cursor(name);
    char print[PRINT_BYTES] = "";
    if (info) { /* catch_up lists without; it passes nothing on */
        make_print(walk, info, print);
    }
    return add_file(walk, name, cursor, info ? info->fault : NULL, print, err);
}

/* The cursor of a sorted name is its key in hexadecimal and text: "1789abcd01234567 2019/a.jpg", or
 * the name's own cursor. */
static int on_sorted(void *context, const char *key, size_t size, struct error *err) {
    struct walk *walk = context;
    char place[2 * TIME_BYTES + 1 + STORE_NAME_MAX + 1];
    uint64_t time = 0;
    for (int i = 0; i < TIME_BYTES; i++) {
        time = time << 8 | (unsigned char)key[i];
    }
    size_t length = strnlen(key + TIME_BYTES, size - TIME_BYTES);
    size_t rest = TIME_BYTES + length + 1; /* its letter */
    snprintf(place, sizeof place, "%016llx %.*s", (unsigned long long)time, (int)length,
             key + TIME_BYTES);
    bool is_told = walk->after && strcmp(place, walk->after) <= 0;
    if (is_told && !walk->names.seen) {
        return 0;
    }
    walk->catches_up = is_told;
    const char *name = place + 2 * TIME_BYTES + 1;
    AUTO(text_freep)
    char *text = rest + 1 <= size ? x_strndup(key + rest + 1, size - rest - 1) : NULL;
    bool is_fault = text && key[rest] == 'f';
    AUTO(text_freep) char *name_cursor = make_cursor(name);
    AUTO(text_freep) char *cursor = x_printf("%.*s %s", 2 * TIME_BYTES, place, name_cursor);
    return add_file(walk, name, cursor, is_fault ? text : NULL, is_fault ? NULL : text, err);
}

/* Results in the input's folder are skipped. */
static int leave_out(struct walk *walk, struct error *err) {
    AUTO(text_freep) char *input = NULL;
    AUTO(text_freep) char *output = NULL;
    struct error ignored = {0};
    const char *output_path = tree_text(walk->listing->spec, "output.path", "");
    if (!store_features(walk->store).is_local || path_resolve(walk->folder, &input, &ignored) < 0 ||
        path_resolve(output_path, &output, &ignored) < 0 || !path_is_inside(output, input)) {
        return 0;
    }
    size_t length = strlen(input);
    if (path_is_inside(input, output)) {
        return error_set(
            err, ERROR_INVALID,
            "%s: the same folder as spec.output.path; the results would replace the input",
            walk->folder);
    }
    if (!text_starts(output, input) || output[length] != '/') {
        return error_set(err, ERROR_INVALID,
                         "%s: spec.output.path is inside it under another name; choose a folder "
                         "beside it",
                         walk->folder);
    }
    walk->own_output = x_printf("%s/", output + length + 1);
    return 0;
}

static bool is_wanted(void *context, const char *name) {
    const struct walk *walk = context;
    return name_pattern_matches(walk->pattern, name);
}

static int on_early_name(void *context, const char *name, const struct store_info *info,
                         struct error *err) {
    struct walk *walk = context;
    if (strcmp(name, walk->after) > 0) {
        walk->catches_up = false;
        return error_set(err, ERROR_CANCELLED, "all names before are known");
    }
    return on_name(context, name, info, err);
}

/* A listing that continues must know the names before: of those that collide the first has it. */
static int catch_up(struct walk *walk, const char *after, struct error *err) {
    struct error ended = {0};
    walk->after = after;
    walk->catches_up = true;
    int result = store_list_links(walk->store, "", NULL, on_early_name, walk, &ended);
    if (result < 0 && walk->catches_up) {
        *err = ended;
        return -1;
    }
    walk->catches_up = false;
    return 0;
}

static int walk_folder(struct walk *walk, struct error *err) {
    const json_t *spec = walk->listing->spec;
    bool by_time = strcmp(tree_text(spec, "input.files.order", ""), "Modified") == 0;
    AUTO(sorter_freep) struct sorter *sorter = NULL;
    if (leave_out(walk, err) < 0) {
        return -1;
    }
    /* All names of a folder are read before the first one is passed on in order. */
    if (walk->listing->checks_only && path_has_file(walk->folder, is_wanted, walk)) {
        return walk->line(walk->context, "null", strlen("null"), NULL, err);
    }
    const char *last = walk->listing->after;
    size_t time_size = by_time ? 2 * TIME_BYTES + 1 : 0;
    bool has_last = last && strlen(last) >= time_size;
    AUTO(text_freep) char *name = has_last ? read_cursor(last + time_size) : NULL;
    AUTO(text_freep)
    char *after = has_last ? x_printf("%.*s%s", (int)time_size, last, name) : NULL;
    if (by_time) {
        walk->after = after;
        walk->sorter = sorter =
            sorter_new(walk->listing->scratch, walk->listing->scratch_name, /* run_bytes= */ 0);
    }
    bool is_behind = !by_time && after && walk->names.seen;
    if (is_behind && catch_up(walk, after, err) < 0) {
        return -1;
    }
    int listed = store_list_all(walk->store, "", by_time ? NULL : after, on_name, walk, err);
    if (listed < 0 || (by_time && sorter_run(sorter, on_sorted, walk, err) < 0)) {
        return -1;
    }
    if (walk->found || walk->listing->after) {
        return 0;
    }
    return error_set(err, ERROR_INVALID,
                     "%s: no file in it matches spec.input.files.pattern \"%s\"", walk->folder,
                     walk->pattern);
}

/* ---- a manifest ----------------------------------------------------------------------------- */

/* Names whose files are asked for together, with what is known about them. */
struct name_batch {
    struct store_asked objects[STORE_ASK_MAX];
    char *names[STORE_ASK_MAX], *cursors[STORE_ASK_MAX];
    size_t count;
};

static void forget_named(struct name_batch *named) {
    for (size_t i = 0; i < named->count; i++) {
        free(named->names[i]);
        free(named->cursors[i]);
    }
    named->count = 0;
}

static int add_named(struct walk *walk, struct error *err) {
    struct name_batch *named = walk->named;
    int result = walk->store ? store_ask(walk->store, named->objects, named->count, err) : 0;
    for (size_t i = 0; i < named->count && result == 0; i++) {
        const struct store_asked *object = &named->objects[i];
        char print[PRINT_BYTES] = "";
        if (object->is_known && *object->info.token) {
            make_print(walk, &object->info, print);
        } else if (object->is_known) {
            snprintf(print, sizeof print, "absent");
        }
        result = add_file(walk, named->names[i], named->cursors[i], NULL,
                          walk->store ? print : NULL, err);
    }
    forget_named(named);
    return result;
}

static int on_manifest(void *context, const char *path, const char *fault, const char *cursor,
                       struct error *err) {
    struct walk *walk = context;
    struct name_batch *named = walk->named;
    if (walk->catches_up) {
        int result = add_file(walk, path, cursor, fault, NULL, err);
        if (result == 0 && strcmp(cursor, walk->after) == 0) {
            walk->catches_up = false;
            return error_set(err, ERROR_CANCELLED, "all names before are known");
        }
        return result;
    }
    if (fault) { /* behind those before it */
        return add_named(walk, err) < 0 ? -1 : add_file(walk, path, cursor, fault, NULL, err);
    }
    named->names[named->count] = x_strdup(path);
    named->cursors[named->count] = x_strdup(cursor);
    named->objects[named->count] = (struct store_asked){.name = named->names[named->count]};
    return ++named->count == STORE_ASK_MAX ? add_named(walk, err) : 0;
}

/* A manifest that has changed since is found by the second reading. */
static int read_manifest(struct walk *walk, const char *manifest, struct error *err) {
    const char *after = walk->listing->after;
    struct error ended = {0};
    if (after && walk->names.seen) {
        walk->after = after;
        walk->catches_up = true;
        if (input_manifest_read(manifest, NULL, on_manifest, walk, &ended) < 0 &&
            walk->catches_up) {
            *err = ended;
            return -1;
        }
        walk->catches_up = false;
    }
    return input_manifest_read(manifest, after, on_manifest, walk, err) < 0 ? -1
                                                                            : add_named(walk, err);
}

/* A folder that is missing is found by the workers, who fail each of its items. */
static int list_manifest(struct walk *walk, const char *manifest, struct error *err) {
    struct name_batch named = {.count = 0};
    struct error cause = {0};
    walk->named = &named;
    if (!walk->listing->checks_only &&
        store_open(walk->folder, /* writes= */ false, &walk->store, &cause) < 0 &&
        !store_is_local(walk->folder) && store_error_is_machine(&cause)) {
        *err = cause;
        return -1;
    }
    int result = read_manifest(walk, manifest, err);
    forget_named(&named);
    store_free(walk->store);
    return result;
}

static bool files_can_keep(const json_t *spec) {
    return !tree_get(spec, "input.files.manifest") &&
           strcmp(tree_text(spec, "input.files.order", ""), "Name") == 0;
}

static int files_list(const struct input_listing *listing, input_line *line, void *context,
                      struct error *err) {
    const char *manifest = tree_text(listing->spec, "input.files.manifest", NULL);
    struct walk walk = {.listing = listing,
                        .folder = tree_text(listing->spec, "input.files.path", ""),
                        .pattern = tree_text(listing->spec, "input.files.pattern", ""),
                        .line = line,
                        .context = context};
    buffer_init(&walk.text, INPUT_LINE_MAX + PRINT_BYTES);
    int result = -1;
    struct error cause = {0};
    output_name_init(&walk.names, listing->spec, NULL, listing->scratch);
    if (manifest) {
        result = list_manifest(&walk, manifest, &cause);
    } else if (store_open(walk.folder, /* writes= */ false, &walk.store, &cause) == 0) {
        walk.names.input = walk.store;
        result = walk_folder(&walk, &cause);
        store_free(walk.store);
    }
    free(walk.own_output);
    output_name_release(&walk.names);
    buffer_release(&walk.text);
    if (result < 0) {
        *err = cause;
        error_context(err, "spec.input.files.%s", manifest ? "manifest" : "path");
    }
    return result;
}

const struct input_kind files_input = {
    .name = "files",
    .item = files_reader_item,
    .can_keep = files_can_keep,
    .list = files_list,
    .reader_open = files_reader_open,
    .reader_next = files_reader_next,
    .reader_free = files_reader_free,
};
