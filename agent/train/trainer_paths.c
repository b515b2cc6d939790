// SPDX-License-Identifier: Apache-2.0
/* What the paths of the spec lead to (moving_paths.h): found once for all ranks and all starts of a
 * training, in OUT/.windlass/RUN/paths.json, and once for all trainings of a Sweep. And whether the
 * files there are still those of a training that has come to its end. */
#include "agent/store/finished.h"
#include "agent/store/moving_paths.h"
#include "agent/train/dataset/stop.h"
#include "agent/train/trainer_kept.h"
#include "agent/train/trainer_state.h"
#include "lib/digest.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATHS_BYTES_MAX = 256 << 10, DATA_BYTES_MAX = 1024 };

static const char *const data_names[] = {"train", "test"};

static const char *const fields[] = {"model.path",
                                     "data.train.idx.images",
                                     "data.train.idx.labels",
                                     "data.train.cifar.path",
                                     "data.train.folder.path",
                                     "data.train.masks.images",
                                     "data.train.masks.masks",
                                     "data.train.tensors.samples",
                                     "data.train.tensors.labels",
                                     "data.train.webdataset.path",
                                     "data.train.table.path",
                                     "data.train.text.path",
                                     "data.train.text.tokenizer",
                                     "data.train.tensors.inputs[0].path",
                                     "data.train.tensors.inputs[1].path",
                                     "data.train.tensors.inputs[2].path",
                                     "data.train.tensors.inputs[3].path",
                                     "data.train.tensors.inputs[4].path",
                                     "data.train.tensors.inputs[5].path",
                                     "data.train.tensors.inputs[6].path",
                                     "data.train.tensors.inputs[7].path",
                                     "data.train.tensors.outputs[0].path",
                                     "data.train.tensors.outputs[1].path",
                                     "data.train.tensors.outputs[2].path",
                                     "data.train.tensors.outputs[3].path",
                                     "data.train.tensors.outputs[4].path",
                                     "data.train.tensors.outputs[5].path",
                                     "data.train.tensors.outputs[6].path",
                                     "data.train.tensors.outputs[7].path",
                                     "data.test.idx.images",
                                     "data.test.idx.labels",
                                     "data.test.cifar.path",
                                     "data.test.folder.path",
                                     "data.test.masks.images",
                                     "data.test.masks.masks",
                                     "data.test.tensors.samples",
                                     "data.test.tensors.labels",
                                     "data.test.webdataset.path",
                                     "data.test.table.path",
                                     "data.test.text.path",
                                     "data.test.text.tokenizer",
                                     "data.test.tensors.inputs[0].path",
                                     "data.test.tensors.inputs[1].path",
                                     "data.test.tensors.inputs[2].path",
                                     "data.test.tensors.inputs[3].path",
                                     "data.test.tensors.inputs[4].path",
                                     "data.test.tensors.inputs[5].path",
                                     "data.test.tensors.inputs[6].path",
                                     "data.test.tensors.inputs[7].path",
                                     "data.test.tensors.outputs[0].path",
                                     "data.test.tensors.outputs[1].path",
                                     "data.test.tensors.outputs[2].path",
                                     "data.test.tensors.outputs[3].path",
                                     "data.test.tensors.outputs[4].path",
                                     "data.test.tensors.outputs[5].path",
                                     "data.test.tensors.outputs[6].path",
                                     "data.test.tensors.outputs[7].path",
                                     NULL};

static const char *restart_of(const struct trainer *trainer) {
    return trainer->job->restart ? trainer->job->restart : "";
}

/* *ret_paths: NULL: this training has not begun, or is made anew. */
static int read_snapshot(const struct trainer *trainer, struct store *output, const char *name,
                         json_t **ret_paths, struct error *err) {
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *begun = NULL;
    struct error cause = {0};
    buffer_init(&text, PATHS_BYTES_MAX);
    if (store_get(output, name, &text, NULL, &cause) < 0) {
        *ret_paths = NULL;
        return cause.kind == ERROR_NOT_FOUND ? 0 : error_set(err, cause.kind, "%s", cause.text);
    }
    if (tree_parse(text.data ? text.data : "", text.size, PATHS_BYTES_MAX, &begun, err) < 0) {
        return error_context(err, "%s/%s", store_path(output), name);
    }
    const char *restart = restart_of(trainer);
    bool is_anew = *restart && strcmp(tree_text(begun, "restart", ""), restart) != 0;
    *ret_paths = is_anew ? NULL : json_incref(json_object_get(begun, "paths"));
    return 0;
}

/* Whether another job has brought this training to its end: rounds of one job only grow. */
static int was_finished(const struct trainer *trainer, struct store *output, bool *ret_was,
                        struct finished *ret_finished, struct error *err) {
    AUTO(text_freep) char *prefix = x_printf(".windlass/%s/", trainer->job->run);
    struct error cause = {0};
    *ret_was = false;
    if (finished_newest(output, prefix, ret_was, ret_finished, &cause) < 0) {
        *ret_was = false;
        return store_error_is_machine(&cause) ? error_set(err, cause.kind, "%s", cause.text) : 0;
    }
    *ret_was = *ret_was && (trainer->job->round == 0 || ret_finished->round >= trainer->job->round);
    return 0;
}

/* A training that goes on opens what its paths led to when it began; one that has come to its end
 * says what has moved. */
static int go_on(const struct trainer *trainer, struct store *output, const json_t *then,
                 json_t *now, struct error *err) {
    AUTO(tree_freep) json_t *found = json_deep_copy(now);
    struct finished finished;
    bool is_over = false;
    const char *path;
    json_t *led;
    if (was_finished(trainer, output, &is_over, &finished, err) < 0) {
        return -1;
    }
    json_object_foreach((json_t *)then, path, led) {
        char moved[MOVING_PATHS_TEXT_MAX];
        moving_paths_describe(path, then, found, moved);
        if (*moved && is_over) {
            return error_set(err, ERROR_INVALID,
                             "%.200s: %s since this training came to its end: rerun with --restart "
                             "(annotation windlass.dev/restart), or choose another output",
                             path, moved);
        }
        if (*moved) {
            trainer_say(trainer, "%s: %s: this training goes on with what it began with", path,
                        moved);
        }
        json_object_set(now, path, led);
    }
    return 0;
}

/* The trials of a Sweep begin with the same ones. */
static int find_shared(const struct trainer *trainer, json_t **paths, struct error *err) {
    AUTO(store_freep) struct store *shared = NULL;
    if (store_open(trainer->job->shared, /* writes= */ true, &shared, err) < 0) {
        return -1;
    }
    json_decref(TAKE(*paths));
    struct moving_pins pins = {shared, ".windlass/paths/"};
    return moving_paths_find(trainer->job->trainer, fields, &pins, paths, err);
}

static int store_begun(const struct trainer *trainer, struct store *output, const char *name,
                       const json_t *paths, struct error *err) {
    AUTO(tree_freep)
    json_t *begun =
        json_pack("{s:i, s:s, s:O}", "windlass", 1, "restart", restart_of(trainer), "paths", paths);
    AUTO(text_freep) char *text = json_dumps(begun, JSON_COMPACT);
    return text ? store_put(output, name, text, strlen(text), STORE_REPLACE, err)
                : error_set(err, ERROR_INVALID, "a path of the spec is not UTF-8");
}

static int find(const struct trainer *trainer, json_t **ret_paths, struct error *err) {
    const struct train_job *job = trainer->job;
    AUTO(text_freep) char *name = x_printf(".windlass/%s/" TRAINER_PATHS, job->run);
    AUTO(store_freep) struct store *output = NULL;
    AUTO(tree_freep) json_t *paths = NULL;
    AUTO(tree_freep) json_t *then = NULL;
    if (moving_paths_find(job->trainer, fields, NULL, &paths, err) < 0) {
        return -1;
    }
    if (json_object_size(paths) > 0) {
        if (store_open(tree_text(job->trainer, "output.path", ""), /* writes= */ true, &output,
                       err) < 0 ||
            read_snapshot(trainer, output, name, &then, err) < 0) {
            return error_context(err, "output.path");
        }
        bool begins = !then;
        if ((begins && job->shared && find_shared(trainer, &paths, err) < 0) ||
            (begins && store_begun(trainer, output, name, paths, err) < 0) ||
            (!begins && go_on(trainer, output, then, paths, err) < 0)) {
            return -1;
        }
    }
    *ret_paths = TAKE(paths);
    return 0;
}

/* Rank 0's, on all ranks; each waits for it. A lost comm must not be used: a call that was given up
 * may still be in it. */
static int share(struct comm *comm, json_t **paths, struct error *err) {
    if (atomic_load(&comm->is_lost)) {
        return error_set(err, ERROR_UNAVAILABLE, "the ranks have lost their connection");
    }
    AUTO(text_freep) char *text = *paths ? json_dumps(*paths, JSON_COMPACT) : NULL;
    int64_t size = text ? (int64_t)strlen(text) : 0;
    if (comm_broadcast(comm, &size, sizeof size, err) < 0) {
        return -1;
    }
    if (size < 0 || size > PATHS_BYTES_MAX) {
        return error_set(err, ERROR_INVALID, "the paths of the spec have %lld bytes, at most %d",
                         (long long)size, PATHS_BYTES_MAX);
    }
    AUTO(text_freep) char *bytes = x_calloc((size_t)size + 1, 1);
    if (text) {
        memcpy(bytes, text, (size_t)size);
    }
    if (size == 0 || comm_broadcast(comm, bytes, (size_t)size, err) < 0) {
        return size == 0 ? 0 : -1;
    }
    json_decref(TAKE(*paths));
    return tree_parse(bytes, (size_t)size, PATHS_BYTES_MAX, paths, err);
}

int trainer_find_paths(struct trainer *trainer, struct error *err) {
    AUTO(tree_freep) json_t *paths = NULL;
    if ((trainer->comm->rank == 0 && find(trainer, &paths, err) < 0) ||
        share(trainer->comm, &paths, err) < 0) {
        return -1;
    }
    trainer->own_job = *trainer->job;
    trainer->own_job.trainer = trainer->spec = json_deep_copy(trainer->job->trainer);
    trainer->job = &trainer->own_job;
    moving_paths_apply(trainer->spec, fields, paths);
    return 0;
}

/* ---- the files behind the paths ------------------------------------------------------------- */

void trainer_describe_data(const struct trainer *trainer, char ret_text[static TRAINER_DATA_MAX]) {
    const struct dataset *test = trainer->test;
    int size = snprintf(ret_text, TRAINER_DATA_MAX, "%08x", trainer->train->state);
    if (test) {
        snprintf(ret_text + size, (size_t)(TRAINER_DATA_MAX - size), " %08x%08x", test->digest,
                 test->state);
    }
}

int trainer_check_data(const struct trainer *trainer, struct error *err) {
    struct finished finished;
    char now[TRAINER_DATA_MAX];
    bool is_over = false;
    if (was_finished(trainer, trainer->store, &is_over, &finished, err) < 0) {
        return error_context(err, "output.path");
    }
    trainer_describe_data(trainer, now);
    if (!is_over || !*finished.data || strcmp(finished.settings, trainer->digest) != 0 ||
        strcmp(finished.data, now) == 0) {
        return 0;
    }
    bool is_train = strncmp(finished.data, now, strcspn(now, " ")) != 0;
    return error_set(err, ERROR_INVALID,
                     "data.%s: files have changed since this training came to its end at %s (their "
                     "names are the same, and sizes, times of change or bytes are others): rerun "
                     "with --restart (annotation windlass.dev/restart), or choose another output",
                     is_train ? "train" : "test", finished.at);
}

/* ---- files that change while it trains ------------------------------------------------------- */

void trainer_describe_changed(const struct trainer *trainer,
                              char ret_text[static FINISHED_CHANGED_MAX]) {
    const bool *has = trainer->has_changed;
    snprintf(ret_text, FINISHED_CHANGED_MAX, "%s%s%s", has[0] ? data_names[0] : "",
             has[0] && has[1] ? " " : "", has[1] ? data_names[1] : "");
}

/* *ret_then: NULL: a start of an earlier release, or none. */
static int read_data(const struct trainer *trainer, const char *name, json_t **ret_then,
                     struct error *err) {
    AUTO(buffer_release) struct buffer text;
    struct error cause = {0};
    buffer_init(&text, DATA_BYTES_MAX);
    *ret_then = NULL;
    if (store_get(trainer->store, name, &text, NULL, &cause) < 0) {
        return cause.kind == ERROR_NOT_FOUND ? 0 : error_set(err, cause.kind, "%s", cause.text);
    }
    return tree_parse(text.data ? text.data : "", text.size, DATA_BYTES_MAX, ret_then, err) < 0
               ? error_context(err, "%s/%s", store_path(trainer->store), name)
               : 0;
}

/* The two words of trainer_describe_data. */
static void find_differing(const char *then, const char *now,
                           bool ret_differs[static ARRAY_LEN(data_names)]) {
    size_t train = strcspn(then, " ");
    ret_differs[0] = strncmp(then, now, MAX(train, strcspn(now, " "))) != 0;
    ret_differs[1] = strcmp(then + train, now + strcspn(now, " ")) != 0;
}

static void note_changed(struct trainer *trainer, size_t set, const char *what) {
    trainer->has_changed[set] = true;
    trainer_say(trainer, "data.%s: files %s", data_names[set], what);
}

/* what: of the files, where `now` differs. */
static void note_differing(struct trainer *trainer, const char *then, const char *now,
                           const char *what) {
    bool differs[ARRAY_LEN(data_names)];
    find_differing(then, now, differs);
    for (size_t i = 0; i < ARRAY_LEN(differs); i++) {
        if (differs[i]) {
            note_changed(trainer, i, what);
        }
    }
}

/* The trials of a Sweep are compared with each other, so they should use the same files. Those
 * whose specs name other data, and those of another restart, have a record of their own. */
static int compare_with_trials(struct trainer *trainer, struct error *err) {
    const struct dataset *test = trainer->test;
    AUTO(store_freep) struct store *shared = NULL;
    /* (Of data in memory `digest` shows its bytes, of other data `state` its files.) */
    AUTO(text_freep)
    char *now = x_printf("%08x%08x %08x%08x", trainer->train->digest, trainer->train->state,
                         test ? test->digest : 0, test ? test->state : 0);
    AUTO(text_freep)
    char *spec = json_dumps(json_object_get(trainer->spec, "data"), JSON_COMPACT | JSON_SORT_KEYS);
    AUTO(text_freep)
    char *reference = x_printf("data of %s: %s", restart_of(trainer), spec ? spec : "");
    AUTO(text_freep) char *first = x_strdup(now);
    char hex[65];
    digest_sha256(reference, strlen(reference), hex);
    if (store_open(trainer->job->shared, /* writes= */ true, &shared, err) < 0) {
        return -1;
    }
    const struct moving_pins pins = {shared, ".windlass/data/"};
    if (moving_paths_pin(&pins, hex, &first, err) < 0) {
        return -1;
    }
    note_differing(trainer, first, now,
                   "are others than when the first trial of this Sweep began, so its trials do not "
                   "compare: rerun the Sweep with --restart (annotation windlass.dev/restart)");
    return 0;
}

void trainer_look_at_data(struct trainer *trainer) {
    const struct dataset *const sets[] = {trainer->train, trainer->test};
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        struct error err = {0};
        uint32_t state = sets[i] ? sets[i]->state : 0;
        if (sets[i] && stop_is_requested(trainer->job->is_stopped)) {
            /* Listing them may take minutes. */
            trainer_say(trainer,
                        "data.%s: whether its files have changed while this training ran is not "
                        "known: it was asked to stop",
                        data_names[i]);
        } else if (sets[i] && dataset_look(sets[i], &state, &err) < 0) {
            trainer_say(trainer,
                        "data.%s: whether its files have changed while this training ran "
                        "is not known: %s",
                        data_names[i], err.text);
        } else if (sets[i] && state != sets[i]->state) {
            note_changed(trainer, i,
                         "have changed while this training ran, and it may have used both: rerun "
                         "with --restart (annotation windlass.dev/restart) to train with these "
                         "alone");
        }
    }
}

int trainer_note_data(struct trainer *trainer, bool goes_on, struct error *err) {
    AUTO(text_freep) char *name = x_printf(".windlass/%s/" TRAINER_DATA, trainer->job->run);
    AUTO(tree_freep) json_t *then = NULL;
    char now[TRAINER_DATA_MAX], changed[FINISHED_CHANGED_MAX];
    trainer_describe_data(trainer, now);
    if (goes_on && read_data(trainer, name, &then, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(data_names); i++) {
        trainer->has_changed[i] = strstr(tree_text(then, "changed", ""), data_names[i]) != NULL;
    }
    if (trainer->step < trainer->total_steps) {
        note_differing(trainer, tree_text(then, "data", now), now,
                       "have other sizes or times of change than when this training began, and its "
                       "first steps used those: rerun with --restart (annotation "
                       "windlass.dev/restart) to train with these alone");
    }
    if (trainer->job->shared && compare_with_trials(trainer, err) < 0) {
        return -1;
    }
    trainer_describe_changed(trainer, changed);
    AUTO(text_freep)
    char *text = x_printf("{\"windlass\":1,\"data\":\"%s\",\"changed\":\"%s\"}\n", now, changed);
    return store_put(trainer->store, name, text, strlen(text), STORE_REPLACE, err);
}
