// SPDX-License-Identifier: Apache-2.0
#include "agent/store/finished.h"

#include "lib/tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, DIGITS = 12 };
#define NUMBER_MAX ((int64_t)999999999999)

/* ---- the text ------------------------------------------------------------------------------- */

char *finished_write(const struct finished *finished) {
    AUTO(tree_freep)
    json_t *tree =
        json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:[]}", "windlass", VERSION, "run",
                  finished->run, "generation", (json_int_t)finished->generation, "round",
                  (json_int_t)finished->round, "step", (json_int_t)finished->step, "epochs",
                  (json_int_t)finished->epochs, "settings", finished->settings, "objective",
                  finished->objective, "at", finished->at, "objects");
    json_t *objects = json_object_get(tree, "objects");
    if (*finished->data) {
        json_object_set_new(tree, "data", json_string(finished->data));
    }
    if (*finished->changed) {
        json_object_set_new(tree, "changed", json_string(finished->changed));
    }
    if (finished->bad_samples > 0) {
        json_object_set_new(tree, "badSamples", json_integer(finished->bad_samples));
    }
    for (size_t i = 0; i < finished->count; i++) {
        const struct finished_object *object = &finished->objects[i];
        json_array_append_new(objects,
                              json_pack("{s:s, s:I, s:s}", "name", object->name, "size",
                                        (json_int_t)object->size_bytes, "sha256", object->sha256));
    }
    AUTO(text_freep) char *text = json_dumps(tree, JSON_COMPACT);
    return x_printf("%s\n", text ? text : "");
}

/* A text of exactly `digits` hexadecimal digits; 0: of any kind. */
static int read_text(const json_t *tree, const char *name, size_t digits, char *to, size_t room,
                     struct error *err) {
    const char *text = json_string_value(json_object_get(tree, name));
    bool is_right = text && strlen(text) < room;
    if (is_right && digits) {
        is_right = strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
    }
    if (!is_right) {
        return error_set(err, ERROR_INVALID, "%s is missing or not valid", name);
    }
    snprintf(to, room, "%s", text);
    return 0;
}

static int read_number(const json_t *tree, const char *name, int64_t least, int64_t most,
                       int64_t *ret_number, struct error *err) {
    const json_t *value = json_object_get(tree, name);
    int64_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < least || number > most) {
        return error_set(err, ERROR_INVALID, "%s is missing or not valid", name);
    }
    *ret_number = number;
    return 0;
}

static int read_object(const json_t *tree, struct finished_object *object, struct error *err) {
    if (read_text(tree, "name", 0, object->name, sizeof object->name, err) < 0 ||
        read_number(tree, "size", 0, STORE_UPLOAD_MAX, &object->size_bytes, err) < 0 ||
        read_text(tree, "sha256", 64, object->sha256, sizeof object->sha256, err) < 0) {
        return -1;
    }
    return *object->name ? 0 : error_set(err, ERROR_INVALID, "name is empty");
}

static int read_objects(const json_t *tree, struct finished *finished, struct error *err) {
    const json_t *objects = json_object_get(tree, "objects");
    size_t count = json_array_size(objects);
    if (count < 1 || count > FINISHED_OBJECTS_MAX) {
        return error_set(err, ERROR_INVALID, "it has %zu objects, expected 1 to %d", count,
                         FINISHED_OBJECTS_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        if (read_object(json_array_get(objects, i), &finished->objects[i], err) < 0) {
            return error_context(err, "objects[%zu]", i);
        }
    }
    finished->count = count;
    return 0;
}

int finished_read(const char *text, size_t size, struct finished *ret_finished, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    struct finished finished = {0};
    int64_t version = 0;
    if (tree_parse(text, size, FINISHED_BYTES_MAX, &tree, err) < 0) {
        return -1;
    }
    if (read_number(tree, "windlass", VERSION, VERSION, &version, err) < 0 ||
        read_text(tree, "run", 16, finished.run, sizeof finished.run, err) < 0 ||
        read_number(tree, "generation", 1, NUMBER_MAX, &finished.generation, err) < 0 ||
        read_number(tree, "round", 0, INT64_MAX, &finished.round, err) < 0 ||
        read_number(tree, "step", 0, NUMBER_MAX, &finished.step, err) < 0 ||
        read_number(tree, "epochs", 0, NUMBER_MAX, &finished.epochs, err) < 0 ||
        read_text(tree, "settings", 64, finished.settings, sizeof finished.settings, err) < 0 ||
        (json_object_get(tree, "data") && /* earlier releases have none */
         read_text(tree, "data", 0, finished.data, sizeof finished.data, err) < 0) ||
        (json_object_get(tree, "changed") &&
         read_text(tree, "changed", 0, finished.changed, sizeof finished.changed, err) < 0) ||
        (json_object_get(tree, "badSamples") &&
         read_number(tree, "badSamples", 1, NUMBER_MAX, &finished.bad_samples, err) < 0) ||
        read_text(tree, "objective", 0, finished.objective, sizeof finished.objective, err) < 0 ||
        read_text(tree, "at", 0, finished.at, sizeof finished.at, err) < 0 ||
        read_objects(tree, &finished, err) < 0) {
        return -1;
    }
    *ret_finished = finished;
    return 0;
}

/* ---- in the store --------------------------------------------------------------------------- */

static char *name_of(const char *prefix, int64_t generation) {
    return x_printf("%sfinished/%012" PRId64, prefix, generation);
}

int finished_put(struct store *store, const char *prefix, const struct finished *finished,
                 struct error *err) {
    AUTO(text_freep) char *name = name_of(prefix, finished->generation);
    AUTO(text_freep) char *text = finished_write(finished);
    AUTO(buffer_release) struct buffer there;
    struct error put = {0};
    buffer_init(&there, FINISHED_BYTES_MAX);
    if (store_put(store, name, text, strlen(text), STORE_CREATE, &put) == 0) {
        return 0;
    }
    if (put.kind != ERROR_CONFLICT) {
        *err = put;
        return -1;
    }
    /* The answer to our own request may have been lost: then it is there already. */
    if (store_get(store, name, &there, NULL, err) < 0) {
        return -1;
    }
    bool is_ours = there.size == strlen(text) && memcmp(there.data, text, there.size) == 0;
    return is_ours ? 0
                   : error_set(err, ERROR_CONFLICT, "%s/%s: another start has this number",
                               store_path(store), name);
}

struct search {
    size_t prefix; /* bytes of a name before its number */
    char *last;    /* names come in the order of their bytes: the highest number is the last one */
};

static int note(void *context, const char *name, const struct store_info *info UNUSED,
                struct error *err UNUSED) {
    struct search *search = context;
    const char *number = name + search->prefix;
    if (strlen(number) == DIGITS && strspn(number, "0123456789") == DIGITS) {
        free(search->last);
        search->last = x_strdup(name);
    }
    return 0;
}

int finished_newest(struct store *store, const char *prefix, bool *ret_found,
                    struct finished *ret_finished, struct error *err) {
    AUTO(text_freep) char *folder = x_printf("%sfinished/", prefix);
    AUTO(buffer_release) struct buffer text;
    struct finished finished;
    struct search search = {.prefix = strlen(folder)};
    buffer_init(&text, FINISHED_BYTES_MAX);
    int result = store_list(store, folder, NULL, note, &search, err);
    AUTO(text_freep) char *name = search.last;
    if (result < 0) {
        return -1;
    }
    if (!name) {
        *ret_found = false;
        return 0;
    }
    if (store_get(store, name, &text, NULL, err) < 0) {
        return -1;
    }
    if (finished_read(text.data ? text.data : "", text.size, &finished, err) < 0) {
        return error_context(err, "%s/%s", store_path(store), name);
    }
    if (finished.generation != strtoll(name + strlen(folder), NULL, 10)) {
        return error_set(err, ERROR_INVALID, "%s/%s: its generation differs from its name",
                         store_path(store), name);
    }
    *ret_finished = finished;
    *ret_found = true;
    return 0;
}

int finished_hash(struct store *store, const char *name, struct finished_object *ret_object,
                  struct error *err) {
    struct store_digest hash;
    if (strlen(name) > FINISHED_NAME_MAX) {
        return error_set(err, ERROR_INVALID, "the name of an object is longer than %d bytes",
                         FINISHED_NAME_MAX);
    }
    if (store_hash(store, name, NULL, NULL, &hash, err) < 0) {
        return -1;
    }
    *ret_object = (struct finished_object){.size_bytes = hash.size_bytes};
    snprintf(ret_object->name, sizeof ret_object->name, "%s", name);
    memcpy(ret_object->sha256, hash.sha256, sizeof ret_object->sha256);
    return 0;
}

static int check_object(struct store *store, const struct finished_object *wanted,
                        struct error *err) {
    struct finished_object seen = {0};
    struct error cause = {0};
    if (finished_hash(store, wanted->name, &seen, &cause) < 0) {
        if (cause.kind == ERROR_NOT_FOUND) {
            return error_set(err, ERROR_FAILED, "%s/%s is not there, though the training wrote it",
                             store_path(store), wanted->name);
        }
        *err = cause;
        err->kind = cause.kind == ERROR_CONFLICT ? ERROR_FAILED : cause.kind;
        return -1;
    }
    if (seen.size_bytes != wanted->size_bytes || strcmp(seen.sha256, wanted->sha256) != 0) {
        return error_set(err, ERROR_FAILED,
                         "%s/%s is not what the training wrote: it has %" PRId64
                         " bytes and SHA-256 %.16s..., expected %" PRId64 " bytes and %.16s...",
                         store_path(store), wanted->name, seen.size_bytes, seen.sha256,
                         wanted->size_bytes, wanted->sha256);
    }
    return 0;
}

int finished_check(struct store *store, const struct finished *finished, struct error *err) {
    for (size_t i = 0; i < finished->count; i++) {
        if (check_object(store, &finished->objects[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}
