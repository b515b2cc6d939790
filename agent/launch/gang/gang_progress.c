// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/gang_progress.h"

#include "lib/contract.h"
#include "lib/text/utf8.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_MESSAGE_MAX = 300 /* bytes */ };

static const char *state_name(const struct gang_progress *progress) {
    const struct gang_facts *facts = progress->facts;
    if (progress->is_finished) {
        return progress->code == 0 ? "Succeeded" : "Failed";
    }
    if (facts->state == GANG_STATE_RUNNING || facts->state == GANG_STATE_CHECKING) {
        return "Running";
    }
    if (facts->state == GANG_STATE_STOPPING) { /* whether all start again is known only when the
                                            round has ended */
        return "Stopping";
    }
    if (progress->has_run) {
        return "Restarting";
    }
    return facts->registered == progress->workers ? "Preparing" : "Gathering";
}

static const char *reason_name(const struct gang_failure *last) {
    bool is_not_found = last->rank < 0 && last->code == GANG_CODE_NOT_FOUND;
    return last->cause == GANG_CAUSE_MEMORY                    ? "OutOfMemory"
           : last->cause == GANG_CAUSE_HANG                    ? "Hung"
           : !gang_cause_is_final(last->cause)                 ? "RankFailed"
           : is_not_found                                      ? "CommandNotFound"
           : last->cause == GANG_CAUSE_REPEATED                ? "RankFailed"
           : last->rank >= 0 && last->code == TRAINER_BAD_DATA ? "BadData"
           : last->rank >= 0 || last->code > 1                 ? "RankFailed" /* prepare: 1 */
                                                               : "PrepareFailed";
}

/* Programs use codes above 128, too, so only codes that rarely mean anything else get the name of
 * their signal. "": other codes. */
static const char *signal_text(int code) {
    static const struct {
        int number;
        const char *detail;
    } signals[] = {{SIGHUP, " (128 + signal 1: hangup)"},
                   {SIGINT, " (128 + signal 2: interrupt)"},
                   {SIGQUIT, " (128 + signal 3: quit)"},
                   {SIGABRT, " (128 + signal 6: aborted)"},
                   {SIGKILL, " (128 + signal 9: killed)"},
                   {SIGSEGV, " (128 + signal 11: segmentation fault)"},
                   {SIGTERM, " (128 + signal 15: terminated)"}};
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        if (code == 128 + signals[i].number) {
            return signals[i].detail;
        }
    }
    return "";
}

void gang_progress_describe(const struct gang_failure *last,
                            char text[static GANG_PROGRESS_TEXT_MAX]) {
    char who[64] = "", how[96] = "";
    if (last->rank >= 0) {
        snprintf(who, sizeof who, ", rank %d", last->rank);
    }
    if (last->cause == GANG_CAUSE_APP && last->code >= 0) {
        snprintf(how, sizeof how, " ended with exit code %d%s", last->code,
                 signal_text(last->code));
    } else if (last->cause == GANG_CAUSE_HANG) {
        snprintf(how, sizeof how, last->code < 0 ? " made no progress" : " gave up");
    }
    if (last->index >= 0) {
        snprintf(text, GANG_PROGRESS_TEXT_MAX, "worker %d%s%s%s%s", last->index, who, how,
                 *last->detail ? ": " : "", last->detail);
    } else {
        snprintf(text, GANG_PROGRESS_TEXT_MAX, "%s%s", *who ? who + 2 : "the workers", how);
    }
}

static json_t *restarts(const struct gang_facts *facts) {
    json_t *tree = json_pack("{s:i, s:i}", "counted", facts->counted_restarts, "disrupted",
                             facts->uncounted_restarts);
    char message[GANG_PROGRESS_TEXT_MAX];
    if (facts->forgiven > 0) { /* from then on for ever */
        json_object_set_new(tree, "sinceProgress",
                            json_integer(facts->counted_restarts - facts->forgiven));
    }
    if (facts->last_failure.cause == GANG_CAUSE_NONE) {
        return tree;
    }
    gang_progress_describe(&facts->last_failure, message);
    json_t *last = json_pack("{s:s}", "cause", gang_cause_name(facts->last_failure.cause));
    const struct {
        const char *name;
        int value;
    } numbers[] = {{"index", facts->last_failure.index},
                   {"rank", facts->last_failure.rank},
                   {"exitCode", facts->last_failure.code}};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (numbers[i].value >= 0) {
            json_object_set_new(last, numbers[i].name, json_integer(numbers[i].value));
        }
    }
    json_object_set_new(last, "message", json_string(message));
    json_object_set_new(tree, "last", last);
    return tree;
}

/* The message of a gang whose ranks have done their work, but cannot store it. */
static void add_waits(const struct gang_progress *progress, json_t *tree) {
    enum gang_state state = progress->facts->state;
    bool is_at_work = state == GANG_STATE_RUNNING || state == GANG_STATE_CHECKING;
    char message[GANG_PROGRESS_TEXT_MAX];
    if (is_at_work && progress->waits && *progress->waits) {
        snprintf(message, sizeof message, CONTRACT_WAITS "%s", progress->waits);
        utf8_make_line(message);
        json_object_set_new(tree, "message", json_string(message));
    }
}

static json_t *proof(const struct gang_progress *progress) {
    const struct gang_facts *facts = progress->facts;
    const char *why = progress->result_message;
    AUTO(text_freep) char *message = why ? x_strndup(why, RESULT_MESSAGE_MAX) : NULL;
    if (message) {
        message[utf8_valid_size(message, strlen(message))] = 0;
    }
    return json_pack("{s:s, s:I, s:s*, s:s*, s:s*}", "by", gang_proof_by_name(facts->proof_by),
                     "count", (json_int_t)facts->proof_count, "modelSHA256", progress->model_sha256,
                     "resultSHA256", progress->result_sha256, "resultMessage", message);
}

json_t *gang_progress_json(const struct gang_progress *progress) {
    const struct gang_facts *facts = progress->facts;
    json_t *tree = json_pack("{s:s, s:{s:i, s:i}, s:o}", "state", state_name(progress), "workers",
                             "registered", facts->registered, "prepared", facts->prepared,
                             "restarts", restarts(facts));
    if (progress->is_storing) {
        json_object_set_new(tree, "storing", json_true());
    }
    if (progress->is_finished && !progress->code) {
        json_object_set_new(tree, "proof", proof(progress));
    }
    bool waits = facts->state != GANG_STATE_RUNNING && facts->state != GANG_STATE_STOPPING &&
                 facts->state != GANG_STATE_CHECKING;
    if (progress->is_finished && progress->code) {
        json_object_set_new(tree, "reason", json_string(reason_name(&facts->last_failure)));
    }
    if (progress->is_finished ? progress->code != 0
                              : waits && facts->last_failure.cause != GANG_CAUSE_NONE) {
        char message[GANG_PROGRESS_TEXT_MAX];
        gang_progress_describe(&facts->last_failure, message);
        json_object_set_new(tree, "message", json_string(message));
    }
    add_waits(progress, tree);
    return tree;
}

/* ---- the termination message of a pod ------------------------------------------------------- */

/* Cuts the text to half; false: it is empty. */
static bool cut_text(json_t *tree, const char *name) {
    const char *text = tree_text(tree, name, "");
    size_t half = strlen(text) / 2;
    if (!half) {
        return false;
    }
    AUTO(text_freep) char *shorter = x_strndup(text, half);
    shorter[utf8_valid_size(shorter, half)] = 0;
    json_object_set_new(tree, name, json_string(shorter));
    return true;
}

char *gang_progress_cut(const char *text, size_t max) {
    struct error ignored = {0};
    AUTO(tree_freep) json_t *tree = NULL;
    if (strlen(text) <= max || tree_parse(text, strlen(text), strlen(text), &tree, &ignored) < 0) {
        return x_strdup(text);
    }
    json_object_del(tree, "lost");
    json_object_del(tree, "metrics");
    json_t *last = tree_get(tree, "restarts.last");
    for (;;) {
        char *shorter = json_dumps(tree, JSON_COMPACT);
        bool fits = strlen(shorter) <= max;
        bool last_is_longer =
            strlen(tree_text(last, "message", "")) >= strlen(tree_text(tree, "message", ""));
        if (fits || !(last_is_longer ? cut_text(last, "message") : cut_text(tree, "message"))) {
            return shorter;
        }
        free(shorter);
    }
}
