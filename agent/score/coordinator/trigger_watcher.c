// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/trigger_watcher.h"

#include "agent/data/source/input_manifest.h"
#include "agent/data/source/name_pattern.h"
#include "agent/job.h"
#include "agent/store/path.h"
#include "agent/store/stored_file.h"
#include "lib/digest.h"
#include "lib/log.h"
#include "lib/text/utf8.h"
#include "lib/time/clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAUSE_MIN_MS = 5000,
    PAUSE_MAX_MS = 600000,
    PAUSE_TIMES = 20,
    SETTLE_MS = 1000, /* between two polls of a trigger */
    TROUBLE_MS = 30000,
    STEP_MS = 500, /* interval of checks for SIGTERM */
    FOLD_BYTES = 64 << 10,
    PATH_MAX_BYTES = 1024,
};

void watcher_observation_release(struct watcher_observation *seen) {
    free(TAKE(seen->input));
    seen->is_there = false;
}

int64_t watcher_pause_ms(int64_t look_ms) {
    return MIN(MAX(PAUSE_TIMES * look_ms, PAUSE_MIN_MS), PAUSE_MAX_MS);
}

/* ---- a digest of what does not fit into memory ---------------------------------------------- */

struct fold {
    struct buffer text; /* not folded in yet */
    char hex[65];
};

static void fold_turn(struct fold *fold) {
    digest_sha256(fold->text.data ? fold->text.data : "", fold->text.size, fold->hex);
    buffer_clear(&fold->text);
    struct error ignored = {0};
    (void)!buffer_append(&fold->text, fold->hex, 64, &ignored);
}

/* Adds a name and its properties, with a separator. */
static int fold_add(struct fold *fold, const char *name, const struct store_info *info,
                    struct error *err) {
    if (fold->text.size > FOLD_BYTES) {
        fold_turn(fold);
    }
    return buffer_printf(&fold->text, err, "%s%c%lld%c%s%c", name, 0, (long long)info->size_bytes,
                         0, info->token, 0);
}

/* ---- the trigger ---------------------------------------------------------------------------- */

/* A path (store.h) without empty parts and control characters. The operator checks that its volume,
 * account or bucket exists and may be read. */
static const char *path_problem(const char *text, size_t size) {
    if (size > PATH_MAX_BYTES) {
        return "more than 1,024 bytes";
    }
    if (utf8_valid_size(text, size) != size || strlen(text) != size) {
        return "not UTF-8";
    }
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 127) {
            return "control characters, or more than one line";
        }
    }
    const char *path = stored_file_skip_scheme(text);
    if (*path == '/' || strstr(path, "//") || text[size - 1] == '/') {
        return "not VOLUME/path/in/it";
    }
    AUTO(text_freep) char *parts = x_printf("/%s/", path);
    return strstr(parts, "/../") || strstr(parts, "/./") ? "a part . or .." : NULL;
}

/* White space around it is ignored. */
static void read_text(const char *path, struct buffer *text, struct watcher_observation *seen) {
    static const char space[] = " \t\r\n";
    const char *start = text->data ? text->data : "";
    size_t size = text->size;
    while (size > 0 && strchr(space, start[size - 1]) && start[size - 1]) {
        size--;
    }
    while (size > 0 && strchr(space, *start) && *start) {
        start++;
        size--;
    }
    if (size == 0) {
        return;
    }
    AUTO(text_freep) char *line = x_calloc(size + 1, 1); /* a NUL in the text must be detected */
    memcpy(line, start, size);
    const char *problem = path_problem(line, size);
    if (problem) {
        snprintf(seen->problem, sizeof seen->problem,
                 "the text of %.150s is not the path of an input: %s", path, problem);
    } else {
        seen->input = TAKE(line);
    }
}

/* "in/a/READY" -> the store "in/a" and the name "READY". */
static int split(const char *path, char **ret_folder, const char **ret_name, struct error *err) {
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path || slash[-1] == '/' || !slash[1]) {
        return error_set(err, ERROR_INVALID, "%s: not an object in a volume or a container", path);
    }
    *ret_folder = x_strndup(path, (size_t)(slash - path));
    *ret_name = slash + 1;
    return 0;
}

static int observe_trigger(const char *path, struct watcher_observation *seen, struct error *err) {
    AUTO(text_freep) char *folder = NULL;
    AUTO(store_freep) struct store *store = NULL;
    AUTO(buffer_release) struct buffer text;
    struct store_info info = {0};
    const char *name = NULL;
    buffer_init(&text, 2 * WATCHER_TEXT_MAX);
    if (split(path, &folder, &name, err) < 0 ||
        store_open(folder, /* writes= */ false, &store, err) < 0 ||
        store_stat(store, name, &info, err) < 0) {
        return -1;
    }
    if (info.size_bytes > WATCHER_TEXT_MAX) {
        snprintf(seen->problem, sizeof seen->problem,
                 "%.150s has %lld bytes; its text, if any, is the path of an input, at most %d",
                 path, (long long)info.size_bytes, WATCHER_TEXT_MAX);
    } else if (store_get(store, name, &text, &info, err) < 0) {
        return -1;
    } else {
        read_text(path, &text, seen);
    }
    char hex[65];
    if (buffer_printf(&text, err, "%lld %s", (long long)info.size_bytes, info.token) < 0) {
        return -1;
    }
    digest_sha256(text.data, text.size, hex);
    memcpy(seen->mark, hex, WATCHER_MARK_BYTES);
    seen->is_there = true;
    return 0;
}

/* ---- the input ------------------------------------------------------------------------------ */

struct walk {
    struct store *store;
    const char *pattern;
    int64_t found;
    struct fold fold;
};

static int add_file(struct walk *walk, const char *name, const struct store_info *listed,
                    struct error *err) {
    struct store_info info = {0};
    struct error cause = {0};
    if (listed) {
        info = *listed;
    } else if (store_stat(walk->store, name, &info, &cause) < 0 && cause.kind != ERROR_NOT_FOUND &&
               cause.kind != ERROR_INVALID) {
        *err = cause;
        return -1;
    }
    walk->found++; /* a file that is gone, or named but does not exist yet, has no token */
    return fold_add(&walk->fold, name, &info, err);
}

static int on_name(void *context, const char *name, const struct store_info *info,
                   struct error *err) {
    struct walk *walk = context;
    if (job_is_interrupted()) {
        return error_set(err, ERROR_CANCELLED, "Cancelled");
    }
    return name_pattern_matches(walk->pattern, name) ? add_file(walk, name, info, err) : 0;
}

static int on_named(void *context, const char *path, const char *fault UNUSED,
                    const char *cursor UNUSED, struct error *err) {
    return add_file(context, path, /* listed= */ NULL, err);
}

/* A single file, opened in its folder. NOT_FOUND or INVALID: it is not a file. */
static int walk_file(struct walk *walk, const char *path, struct error *err) {
    AUTO(text_freep) char *folder = NULL;
    const char *name = NULL;
    struct store_info info;
    if (split(path, &folder, &name, err) < 0 ||
        store_open(folder, /* writes= */ false, &walk->store, err) < 0 ||
        store_stat(walk->store, name, &info, err) < 0) {
        store_free(TAKE(walk->store));
        return -1;
    }
    return add_file(walk, name, &info, err);
}

/* A run's own output must not trigger the next run. */
static int check_apart(const json_t *spec, const char *input, struct error *err) {
    AUTO(text_freep) char *folder = NULL;
    AUTO(text_freep) char *output = NULL;
    struct error ignored = {0};
    const char *path = tree_text(spec, "output.path", "");
    if (path_resolve(input, &folder, &ignored) == 0 && path_resolve(path, &output, &ignored) == 0 &&
        path_is_inside(output, folder)) {
        return error_set(err, ERROR_INVALID,
                         "spec.output.path: %s is inside the input %s: each run would trigger the "
                         "next one; choose a folder beside it",
                         path, input);
    }
    return 0;
}

static int walk_input(const json_t *spec, struct walk *walk, struct error *err) {
    static const char *const kinds[] = {"video", "files", "table", "npy"};
    const json_t *input = NULL;
    for (size_t i = 0; i < ARRAY_LEN(kinds) && !input; i++) {
        input = json_object_get(json_object_get(spec, "input"), kinds[i]);
    }
    const char *path = tree_text(input, "path", ""), *manifest = tree_text(input, "manifest", NULL);
    struct error cause = {0};
    walk->pattern = tree_text(input, "pattern", "*");
    if (check_apart(spec, path, err) < 0) {
        return -1;
    }
    if (!manifest && walk_file(walk, path, &cause) == 0) {
        return 0;
    }
    if (cause.kind && cause.kind != ERROR_NOT_FOUND && cause.kind != ERROR_INVALID) {
        *err = cause;
        return -1;
    }
    if (store_open(path, /* writes= */ false, &walk->store, err) < 0) {
        return -1;
    }
    if (!manifest) {
        return store_list(walk->store, "", /* after= */ NULL, on_name, walk, err);
    }
    error_clear(&cause);
    if (input_manifest_read(manifest, /* after= */ NULL, on_named, walk, &cause) < 0) {
        if (cause.kind != ERROR_INVALID) { /* it may be being written */
            *err = cause;
            return -1;
        }
        walk->found = 0;
    }
    return 0;
}

static int observe_input(const json_t *spec, struct watcher_observation *seen, struct error *err) {
    struct walk walk = {0};
    buffer_init(&walk.fold.text, 4 * FOLD_BYTES);
    int result = walk_input(spec, &walk, err);
    if (result == 0 && walk.found > 0) {
        fold_turn(&walk.fold);
        memcpy(seen->mark, walk.fold.hex, WATCHER_MARK_BYTES);
        seen->is_there = true;
    }
    store_free(walk.store);
    buffer_release(&walk.fold.text);
    return result;
}

int watcher_observe(const struct watcher_options *options, struct watcher_observation *ret_seen,
                    struct error *err) {
    const char *trigger = tree_text(options->spec, "trigger.path", NULL);
    struct watcher_observation seen = {0};
    struct error cause = {0};
    int result = trigger ? observe_trigger(trigger, &seen, &cause)
                         : observe_input(options->spec, &seen, &cause);
    if (result < 0 && cause.kind != ERROR_NOT_FOUND) {
        watcher_observation_release(&seen);
        *err = cause;
        return -1;
    }
    if (result < 0) {
        watcher_observation_release(&seen);
    }
    *ret_seen = seen;
    return 0;
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void rest(int64_t ms) {
    int64_t end_ms = clock_monotonic_ms() + ms;
    for (int64_t left_ms; !job_is_interrupted() && (left_ms = end_ms - clock_monotonic_ms()) > 0;) {
        poll(NULL, 0, (int)MIN(left_ms, STEP_MS));
    }
}

static void leave_words(const struct watcher_observation *seen) {
    AUTO(tree_freep)
    json_t *words = json_pack("{s:s, s:s*}", "mark", seen->mark, "input", seen->input);
    if (*seen->problem) {
        json_object_set_new(words, "problem", json_string(seen->problem));
    }
    AUTO(text_freep) char *text = json_dumps(words, JSON_COMPACT);
    log_event(LOG_INFO, "seen: %s", text);
    job_write_termination_message(text);
}

static int give_up(const struct error *err) {
    AUTO(tree_freep) json_t *words = json_pack("{s:s}", "message", err->text);
    AUTO(text_freep) char *text = json_dumps(words, JSON_COMPACT);
    log_event(LOG_ERROR, "%s", err->text);
    job_write_termination_message(text);
    return error_exit_code(err);
}

int watcher_run(const struct watcher_options *options) {
    const char *trigger = tree_text(options->spec, "trigger.path", NULL);
    AUTO(watcher_observation_release) struct watcher_observation before = {0};
    bool is_quiet = true; /* no failure was logged since the last success */
    log_event(LOG_INFO, "waiting for %s", trigger ? trigger : "a change of the input");
    while (!job_is_interrupted()) {
        AUTO(watcher_observation_release) struct watcher_observation seen = {0};
        struct error err = {0};
        int64_t start_ms = clock_monotonic_ms(), pause_ms = TROUBLE_MS;
        if (watcher_observe(options, &seen, &err) == 0) {
            bool is_new = seen.is_there && strcmp(seen.mark, options->mark) != 0;
            if (is_new && strcmp(seen.mark, before.mark) == 0) {
                leave_words(&seen);
                return 0;
            }
            pause_ms = watcher_pause_ms(clock_monotonic_ms() - start_ms);
            pause_ms = is_new && trigger ? SETTLE_MS : pause_ms;
            is_quiet = true;
            snprintf(before.mark, sizeof before.mark, "%s", seen.mark);
        } else if (err.kind == ERROR_INVALID) {
            return give_up(&err);
        } else if (is_quiet && err.kind != ERROR_CANCELLED) {
            log_event(LOG_WARNING, "%s; checking again every %d s", err.text, TROUBLE_MS / 1000);
            is_quiet = false;
        }
        rest(pause_ms);
    }
    return 130;
}
