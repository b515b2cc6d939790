// SPDX-License-Identifier: Apache-2.0
/* Whose results are in the output: OUTPUT/.windlass/owner. */
#include "agent/result/result_file.h"
#include "agent/train/record/metrics_log.h"
#include "agent/train/trainer_kept.h"
#include "agent/train/trainer_state.h"
#include "lib/text/tree_changes.h"
#include "lib/time/clock.h"
#include "lib/tree.h"

#include <stdlib.h>
#include <string.h>

enum { OWNER_BYTES_MAX = 64 << 10, CHANGES_BYTES = 320 };
#define OWNER ".windlass/owner"

/* Our owner object: {"run","job","at","restart","trainer"}. restart: the text under which the
 * output was made anew; trainer: the fields of the spec that decide the result. */
static json_t *make_owner(const struct trainer *trainer) {
    static const char *const pace[] = {"checkpoint", "fusionBufferMB", "timeline"};
    const struct train_job *job = trainer->job;
    char at[21];
    clock_format(clock_wall_ms(), at);
    json_t *settings = json_deep_copy(job->trainer);
    for (size_t i = 0; i < ARRAY_LEN(pace); i++) {
        json_object_del(settings, pace[i]);
    }
    json_object_del(json_object_get(settings, "data"), "onBadSample");
    json_object_del(json_object_get(settings, "data"), "maxBadSamples");
    return json_pack("{s:s,s:s,s:s,s:s,s:o}", "run", job->run, "job", job->name ? job->name : "",
                     "at", at, "restart", job->restart ? job->restart : "", "trainer", settings);
}

static int discard_files(const struct trainer *trainer, struct error *err) {
    static const char *const files[] = {"result.intoto.jsonl", RESULT_MODEL, METRICS_CSV,
                                        METRICS_EVENTS};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (store_remove(trainer->store, files[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* What an earlier training has made. Its starts are overtaken first, so that none of them that
 * still lives writes its result again. */
static int discard(const struct trainer *trainer, const char *run, struct error *err) {
    static const char *const folders[] = {"checkpoint/", "finished/", "ended/"};
    /* Of this run the last one is its hub's: it closes the attempts before. */
    size_t count = ARRAY_LEN(folders) - (strcmp(run, trainer->job->run) == 0);
    struct store *store = trainer->store;
    AUTO(text_freep) char *prefix = x_printf(".windlass/%s/", run);
    struct checkpoint_location place = {store, prefix};
    int64_t generation = 0;
    if (checkpoint_claim(&place, "restart", &generation, err) < 0 ||
        store_remove(store, RESULT_NAME, err) < 0 || discard_files(trainer, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        AUTO(text_freep) char *folder = x_printf("%s%s", prefix, folders[i]);
        if (store_clear(store, folder, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The result of an earlier start would be taken for this one's, until this one has ended. Its files
 * stay: while nothing better is there, model.onnx is still used. */
int trainer_forget_result(const struct trainer *trainer, struct error *err) {
    return store_remove(trainer->store, RESULT_NAME, err) < 0
               ? -1
               : store_remove(trainer->store, "result.intoto.jsonl", err);
}

static int refuse(const struct trainer *trainer, const json_t *then, const json_t *now,
                  struct error *err) {
    char text[CHANGES_BYTES];
    struct tree_changes changes;
    tree_changes_init(&changes, text, sizeof text);
    if (json_object_get(then, "trainer")) {
        tree_changes_compare(&changes, "spec.trainer", json_object_get(then, "trainer"),
                             json_object_get(now, "trainer"));
        tree_changes_finish(&changes);
    }
    return error_set(
        err, ERROR_INVALID,
        "%s holds the results of job %s, started with a different spec: %s: rerun with "
        "--restart (annotation windlass.dev/restart), or choose another output",
        store_path(trainer->store), tree_text(then, "job", "?"),
        *text ? text : "its volumes, or fields that an earlier release did not store");
}

static void print_restart(const struct trainer *trainer) {
    trainer_say(trainer, "restart: what earlier trainings have made is thrown away");
}

static int replace(const struct trainer *trainer, const json_t *then, const char *text,
                   struct error *err) {
    const char *run = tree_text(then, "run", "");
    print_restart(trainer);
    if (strlen(run) == 16 && strspn(run, "0123456789abcdef") == 16 &&
        discard(trainer, run, err) < 0) {
        return -1;
    }
    return store_put(trainer->store, OWNER, text, strlen(text), STORE_REPLACE, err);
}

/* Of a training whose .windlass is gone. result.json goes last: if this start dies before, the next
 * one still knows by it that the others are there. */
static int discard_ownerless(const struct trainer *trainer, struct error *err) {
    print_restart(trainer);
    return discard_files(trainer, err) < 0 ? -1 : store_remove(trainer->store, RESULT_NAME, err);
}

/* Whose result.json is there: never that of another kind of job, which would not be complete
 * without. Without an owner, .windlass was deleted: then it still says whose results are there.
 * What is not a result.json of ours (nor one of its size: INVALID) says nothing. A restart throws a
 * training's results away. */
static int check_result(const struct trainer *trainer, bool has_owner, struct error *err) {
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *result = NULL;
    struct error cause = {0};
    buffer_init(&text, RESULT_BYTES_MAX);
    if (store_get(trainer->store, RESULT_NAME, &text, NULL, &cause) < 0) {
        bool is_none = cause.kind == ERROR_NOT_FOUND || cause.kind == ERROR_INVALID;
        *err = is_none ? *err : cause;
        return is_none ? 0 : -1;
    }
    if (result_file_parse(text.data ? text.data : "", text.size, &result, &cause) < 0) {
        return 0;
    }
    const char *name = tree_text(result, "name", ""), *run = tree_text(result, "run", "");
    if (result_file_check_kind(result, RESULT_TRAINER, store_path(trainer->store), err) < 0) {
        return -1;
    }
    if (has_owner) {
        return 0;
    }
    if (trainer->job->restart && *trainer->job->restart) {
        return discard_ownerless(trainer, err);
    }
    return strcmp(run, trainer->job->run) == 0
               ? 0
               : error_set(
                     err, ERROR_INVALID,
                     "%s holds the results of job %.60s (" RESULT_NAME "), started with a "
                     "different spec, and .windlass is gone: rerun with --restart (annotation "
                     "windlass.dev/restart), or choose another output",
                     store_path(trainer->store), name);
}

/* *ret_is_there: somebody has made it. */
static int find_owner(const struct trainer *trainer, bool *ret_is_there, struct error *err) {
    struct store_info info;
    struct error cause = {0};
    *ret_is_there = store_stat(trainer->store, OWNER, &info, &cause) == 0;
    *err = *ret_is_there || cause.kind == ERROR_NOT_FOUND ? *err : cause;
    return *ret_is_there || cause.kind == ERROR_NOT_FOUND ? 0 : -1;
}

int trainer_own(const struct trainer *trainer, struct error *err) {
    struct store *store = trainer->store;
    bool is_there = false;
    const char *restart = trainer->job->restart ? trainer->job->restart : "";
    AUTO(tree_freep) json_t *mine = make_owner(trainer);
    AUTO(text_freep) char *text = mine ? json_dumps(mine, JSON_COMPACT) : x_strdup("");
    AUTO(buffer_release) struct buffer there;
    AUTO(tree_freep) json_t *owner = NULL;
    struct error ignored = {0};
    buffer_init(&there, OWNER_BYTES_MAX);
    if (find_owner(trainer, &is_there, err) < 0 || check_result(trainer, is_there, err) < 0) {
        return -1;
    }
    /* The object is read to see who made it: the answer to our own request may have been lost. */
    if (store_put(store, OWNER, text, strlen(text), STORE_CREATE, &ignored) < 0 &&
        ignored.kind != ERROR_CONFLICT) {
        *err = ignored;
        return -1;
    }
    if (store_get(store, OWNER, &there, NULL, err) < 0) {
        return -1;
    }
    error_clear(&ignored);
    (void)!tree_parse(there.data ? there.data : "", there.size, OWNER_BYTES_MAX, &owner, &ignored);
    if (*restart && strcmp(tree_text(owner, "restart", ""), restart) != 0) {
        return replace(trainer, owner, text, err);
    }
    return strcmp(tree_text(owner, "run", ""), trainer->job->run) == 0
               ? 0
               : refuse(trainer, owner, mine, err);
}
