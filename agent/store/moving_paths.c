// SPDX-License-Identifier: Apache-2.0
#include "agent/store/moving_paths.h"

#include "agent/store/path.h"
#include "agent/store/published/published.h"
#include "agent/store/registered.h"
#include "agent/store/stored_file.h"
#include "lib/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIN_NAME_BYTES = 16, PIN_BYTES_MAX = 16 << 10 };

/* A storage without an answer; what else is wrong is said when the file is opened, by its field. */
static int check_answer(const struct error *cause, struct error *err) {
    if (cause->kind != ERROR_UNAVAILABLE && cause->kind != ERROR_TIMEOUT) {
        return 0;
    }
    *err = *cause;
    return -1;
}

/* ---- pins ----------------------------------------------------------------------------------- */

static int read_pin(const struct moving_pins *pins, const char *name, const char *reference,
                    char **led, struct error *err) {
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *pin = NULL;
    buffer_init(&text, PIN_BYTES_MAX);
    if (store_get(pins->store, name, &text, NULL, err) < 0 ||
        tree_parse(text.data ? text.data : "", text.size, PIN_BYTES_MAX, &pin, err) < 0) {
        return -1;
    }
    const char *found = tree_text(pin, "led", "");
    if (!*found || strcmp(tree_text(pin, "path", ""), reference) != 0) {
        return error_set(err, ERROR_INVALID, "%s/%s: damaged: it does not record where %.200s led",
                         store_path(pins->store), name, reference);
    }
    free(*led);
    *led = x_strdup(found);
    return 0;
}

int moving_paths_pin(const struct moving_pins *pins, const char *reference, char **led,
                     struct error *err) {
    char hex[65];
    struct error cause = {0};
    digest_sha256(reference, strlen(reference), hex);
    AUTO(text_freep) char *name = x_printf("%s%.*s", pins->prefix, PIN_NAME_BYTES, hex);
    AUTO(tree_freep) json_t *made = json_pack("{s:s, s:s}", "path", reference, "led", *led);
    AUTO(text_freep) char *text = made ? json_dumps(made, JSON_COMPACT) : NULL;
    if (!text) {
        return error_set(err, ERROR_INVALID, "a path of the spec is not UTF-8");
    }
    /* It is read again in any case: the answer to our own request may have been lost. */
    if (store_put(pins->store, name, text, strlen(text), STORE_CREATE, &cause) < 0 &&
        cause.kind != ERROR_CONFLICT) {
        *err = cause;
        return -1;
    }
    return read_pin(pins, name, reference, led, err);
}

static int pin(const struct moving_pins *pins, const char *reference, char **led,
               struct error *err) {
    return pins ? moving_paths_pin(pins, reference, led, err) : 0;
}

/* ---- latest --------------------------------------------------------------------------------- */

struct finding {
    const struct moving_pins *pins;
    json_t *versions; /* folder -> what its `latest` names, "" for none, as far as it is known */
};

static int read_version(const struct finding *finding, const char *folder, const char **ret_version,
                        struct error *err) {
    AUTO(store_freep) struct store *store = NULL;
    json_t *versions = finding->versions;
    char version[REGISTERED_VERSION_MAX + 1] = "";
    struct error cause = {0};
    *ret_version = json_string_value(json_object_get(versions, folder));
    if (*ret_version) {
        return 0;
    }
    if ((store_open(folder, /* writes= */ false, &store, &cause) < 0 ||
         registered_latest(store, REGISTERED_LATEST, version, &cause) < 0) &&
        check_answer(&cause, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *reference = x_printf("%s/" REGISTERED_LATEST, folder);
    AUTO(text_freep) char *led = x_strdup(version);
    if (*led && pin(finding->pins, reference, &led, err) < 0) {
        return -1;
    }
    json_object_set_new(versions, folder, json_string(led));
    *ret_version = json_string_value(json_object_get(versions, folder));
    return 0;
}

static int follow_latest(const struct finding *finding, char **path, struct error *err) {
    const char *latest = stored_file_find_latest(*path), *version = NULL;
    if (!latest) {
        return 0;
    }
    AUTO(text_freep) char *folder = x_strndup(*path, (size_t)(latest - *path));
    if (read_version(finding, folder, &version, err) < 0) {
        return -1;
    }
    if (*version) {
        char *followed =
            x_printf("%s/%s%s", folder, version, latest + strlen("/" REGISTERED_LATEST));
        free(*path);
        *path = followed;
    }
    return 0;
}

/* ---- links ---------------------------------------------------------------------------------- */

static int follow_links(const struct finding *finding, char **path, struct error *err) {
    AUTO(text_freep) char *volume = x_strndup(*path, strcspn(*path, "/"));
    AUTO(text_freep) char *root = NULL;
    AUTO(text_freep) char *target = NULL;
    struct error cause = {0};
    if (path_resolve(volume, &root, &cause) < 0 || path_resolve(*path, &target, &cause) < 0) {
        return check_answer(&cause, err);
    }
    size_t length = strlen(root);
    if (!text_starts(target, root) || target[length] != '/' || strstr(target + length, "/..")) {
        return 0;
    }
    AUTO(text_freep) char *led = x_printf("%s%s", volume, target + length);
    if (strcmp(led, *path) != 0 && pin(finding->pins, *path, &led, err) < 0) {
        return -1;
    }
    free(*path);
    *path = TAKE(led);
    return 0;
}

/* ---- published ------------------------------------------------------------------------------ */

/* The SHA-256 is the field beside the path's. */
static int follow_published(const struct finding *finding, const json_t *spec, const char *field,
                            char **path, struct error *err) {
    AUTO(text_freep)
    char *beside = x_printf("%.*s.sha256", (int)(strrchr(field, '.') - field), field);
    AUTO(text_freep) char *led = NULL;
    if (published_pin(*path, tree_text(spec, beside, NULL), &led, err) < 0 ||
        (strcmp(led, *path) != 0 && pin(finding->pins, *path, &led, err) < 0)) {
        return -1;
    }
    free(*path);
    *path = TAKE(led);
    return 0;
}

static int follow(const struct finding *finding, const json_t *spec, const char *field, char **path,
                  struct error *err) {
    if (published_is(*path)) {
        return follow_published(finding, spec, field, path, err);
    }
    return follow_latest(finding, path, err) < 0                           ? -1
           : store_is_local(*path) && follow_links(finding, path, err) < 0 ? -1
                                                                           : 0;
}

/* ---- all ------------------------------------------------------------------------------------ */

int moving_paths_find(const json_t *spec, const char *const *fields, const struct moving_pins *pins,
                      json_t **ret_paths, struct error *err) {
    AUTO(tree_freep) json_t *versions = json_object();
    const struct finding finding = {pins, versions};
    AUTO(tree_freep) json_t *paths = json_object();
    for (; *fields; fields++) {
        const char *given = tree_text(spec, *fields, NULL);
        if (!given || !*given) {
            continue;
        }
        AUTO(text_freep) char *path = x_strdup(given);
        if (follow(&finding, spec, *fields, &path, err) < 0) {
            return error_context(err, "spec.%s", *fields);
        }
        if (strcmp(path, given) != 0) {
            json_object_set_new(paths, given, json_string(path));
        }
    }
    *ret_paths = TAKE(paths);
    return 0;
}

void moving_paths_apply(json_t *spec, const char *const *fields, const json_t *paths) {
    for (; *fields; fields++) {
        const char *name = strrchr(*fields, '.');
        const char *given = tree_text(spec, *fields, NULL);
        json_t *led = given ? json_object_get(paths, given) : NULL;
        AUTO(text_freep) char *above = x_strndup(*fields, (size_t)(name - *fields));
        if (json_is_string(led)) {
            json_object_set(tree_get(spec, above), name + 1, led);
        }
    }
}

/* Where two paths begin to differ and end to: whole parts of their names. */
static void cut_common(const char *one, const char *other, size_t *ret_start, size_t *ret_end) {
    size_t start = 0, size = strlen(one), other_size = strlen(other), end = 0, same = 0;
    for (size_t i = 0; one[i] && one[i] == other[i]; i++) {
        start = one[i] == '/' ? i + 1 : start;
    }
    while (same < size - start && same < other_size - start &&
           one[size - 1 - same] == other[other_size - 1 - same]) {
        same++;
        end = one[size - same] == '/' ? same : end;
    }
    *ret_start = start;
    *ret_end = end;
}

void moving_paths_describe(const char *spec_path, const json_t *then, const json_t *now,
                           char text[static MOVING_PATHS_TEXT_MAX]) {
    const char *before = json_string_value(json_object_get(then, spec_path));
    const char *after = json_string_value(json_object_get(now, spec_path));
    size_t start, end;
    *text = 0;
    if ((!before && !after) || !json_is_object(then) || !json_is_object(now)) {
        return;
    }
    before = before ? before : spec_path;
    after = after ? after : spec_path;
    if (strcmp(before, after) == 0) {
        return;
    }
    cut_common(before, after, &start, &end);
    bool is_version = stored_file_find_latest(spec_path) != NULL;
    snprintf(text, MOVING_PATHS_TEXT_MAX,
             is_version ? "latest is now %.*s, was %.*s" : "leads to %.*s now, led to %.*s",
             (int)MIN(strlen(after) - start - end, (size_t)100), after + start,
             (int)MIN(strlen(before) - start - end, (size_t)100), before + start);
}
