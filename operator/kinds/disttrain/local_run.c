// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/local_run.h"

#include "lib/contract.h"
#include "lib/text/utf8.h"
#include "operator/kinds/disttrain/status.h"
#include "operator/object.h"

#include <stdio.h>
#include <string.h>

int64_t disttrain_fit(json_t *spec, int64_t asked, int processors UNUSED) {
    int64_t count = asked == KIND_UNSET ? tree_integer(spec, "workers", 1) : asked;
    json_object_set_new(spec, "workers", json_integer(count));
    return count;
}

int64_t disttrain_failed_index(const json_t *status) {
    return tree_integer(status, "restarts.last.index", 0);
}

/* Prints the value of the objective, or the names of the metrics that exist instead. */
static void print_objective(const struct ending *ending) {
    const char *name = tree_text(ending->spec, "metrics.objective", NULL);
    const char *best = tree_text(ending->status, "objective.best", NULL);
    const json_t *others = tree_get(ending->status, "objective.others");
    if (!name) {
        return;
    }
    if (best) {
        int64_t reports = tree_integer(ending->status, "objective.reports", 0);
        printf("  %-8s %s %s of %lld report%s\n", "best", name, best, (long long)reports,
               reports == 1 ? "" : "s");
        return;
    }
    printf("  %-8s no report of %s%s", "best", name, others ? "; there are: " : "");
    for (size_t i = 0; i < json_array_size(others); i++) {
        printf("%s%s", i ? ", " : "", json_string_value(json_array_get(others, i)));
    }
    putchar('\n');
}

/* What the success rests on: only exits that pods have reported themselves, or less. */
static void print_proof(const struct ending *ending) {
    static const struct {
        const char *by, *one, *many;
    } rows[] = {{"Ranks", "rank", "ranks"},
                {"Processes", "process", "processes"},
                {"Proxies", "proxy of MPI", "proxies of MPI"}};
    const char *by = tree_text(ending->status, "proof.by", "");
    const char *sha256 = tree_text(ending->status, "proof.modelSHA256", NULL);
    long long count = tree_integer(ending->status, "proof.count", 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strcmp(by, rows[i].by) == 0) {
            printf("  %-8s %lld %s ended with 0", "proof", count,
                   count == 1 ? rows[i].one : rows[i].many);
            if (sha256) {
                printf("; the model is as it was written, SHA-256 %s", sha256);
            }
            putchar('\n');
        }
    }
    const char *message = tree_text(ending->status, "proof.resultMessage", NULL);
    if (message) {
        printf("  %-8s %s\n", "result", message);
    }
}

static void print_growth(const struct ending *ending) {
    const char *first = tree_text(ending->status, "firstLoss", NULL);
    const char *last = tree_text(ending->status, "loss", NULL);
    if (disttrain_loss_has_grown(first, last)) {
        printf("  %-8s it has not fallen: %s at the first step, %s in the last epoch\n", "loss",
               first, last);
    }
}

/* The program itself has printed the rest. */
static void print_success(const struct ending *ending) {
    const json_t *outputs = json_object_get(ending->spec, "outputs");
    int64_t restarts = tree_integer(ending->status, "restarts.counted", 0) +
                       tree_integer(ending->status, "restarts.disrupted", 0);
    int64_t workers = tree_integer(ending->spec, "workers", 1);
    printf("%s succeeded in %.1f s: %lld worker%s", ending->name,
           (double)MAX(ending->elapsed_ms, 1) / 1000, (long long)workers, workers == 1 ? "" : "s");
    const char *accuracy = tree_text(ending->status, "accuracy", NULL);
    if (accuracy) {
        printf(", accuracy %s", accuracy);
    }
    int64_t bad = tree_integer(ending->status, "badSamples.count", 0);
    if (bad > 0) {
        printf(", %lld bad sample%s left out", (long long)bad, bad == 1 ? "" : "s");
    }
    if (restarts > 0) {
        printf(", started again %lld time%s", (long long)restarts, restarts == 1 ? "" : "s");
    }
    putchar('\n');
    print_growth(ending);
    print_objective(ending);
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        ending_print_path(ending, "output", tree_text(json_array_get(outputs, i), "path", NULL));
    }
    const char *trained = tree_text(ending->spec, "trainer.output.path", NULL);
    if (trained) {
        AUTO(text_freep) char *model = x_printf("%s/model.onnx", trained);
        ending_print_path(ending, "model", model);
    }
    print_proof(ending);
    printf("  %-8s %s\n", "logs", ending->state_folder);
    fflush(stdout);
}

static const struct ending_advice advices[] = {
    {"PrepareFailed", "correct spec.prepare, or what it needs, and run again", 1, false, true},
    {"CommandNotFound", "correct spec.command; its program must be installed on this machine", 1,
     false, false},
    {"RankFailed", "correct what the program reports and run again", 1, false, true},
    {"BadData",
     "correct the samples that are named, or leave them out with "
     "spec.trainer.data.onBadSample: Skip, and run again",
     1, false, true},
    {"Stopped", "remove spec.stop from the manifest and run again", 1, false, false},
    {NULL, NULL, 0, false, false},
};

const struct ending_kind disttrain_ending = {
    .advices = advices,
    .print_success = print_success,
};

/* ", loss 0.31, accuracy 0.9", or what else the job is judged by. */
static void read_measured(const json_t *status, char text[static 140]) {
    const char *objective = tree_text(status, "objective.last", NULL);
    const char *accuracy = tree_text(status, "accuracy", NULL);
    const char *loss = tree_text(status, "loss", NULL);
    const char *other = accuracy ? accuracy : loss ? NULL : objective;
    snprintf(text, 140, "%s%.32s%s%.32s", loss ? ", loss " : "", loss ? loss : "",
             accuracy ? ", accuracy "
             : other  ? ", objective "
                      : "",
             other ? other : "");
}

void disttrain_read_numbers(const json_t *status, struct progress_numbers *numbers) {
    long long wanted = tree_integer(status, "workers.wanted", 0);
    long long workers = tree_integer(status, "workers.registered", 0);
    long long step = tree_integer(status, "step", -1), epoch = tree_integer(status, "epoch", 0);
    numbers->said = tree_text(status, "lastLine", NULL);
    numbers->restarts =
        tree_integer(status, "restarts.counted", 0) + tree_integer(status, "restarts.disrupted", 0);
    if (step > 0) {
        numbers->rate = tree_text(status, "samplesPerSecond", NULL);
    }
    if (wanted <= 0) { /* the hub has not reported anything yet */
        return;
    }
    char measured[140], percent[16] = "";
    read_measured(status, measured);
    if (tree_get(status, "percent")) {
        snprintf(percent, sizeof percent, ", %d %%", (int)tree_integer(status, "percent", 0));
        numbers->left_s = tree_integer(status, "secondsLeft", -1);
    }
    if (step < 0) {
        snprintf(numbers->detail, sizeof numbers->detail, ": %lld of %lld workers%s%s", workers,
                 wanted, percent, measured);
        snprintf(numbers->place, sizeof numbers->place, "%lld/%lld workers%s", workers, wanted,
                 percent);
        return;
    }
    char passed[40] = "", waits[180] = "";
    const char *message = tree_text(object_succeeded(status), "message", "");
    bool is_waiting = text_starts(message, CONTRACT_WAITS);
    if (epoch > 0) {
        snprintf(passed, sizeof passed, ", epoch %lld", epoch);
    }
    snprintf(waits, sizeof waits, "%s%.170s", is_waiting ? "; " : "", is_waiting ? message : "");
    utf8_repair(waits);
    snprintf(numbers->detail, sizeof numbers->detail, ": step %lld%s%s%s%s", step, passed, percent,
             measured, waits);
    snprintf(numbers->place, sizeof numbers->place, "step %lld%s%s%s", step, passed, percent,
             is_waiting ? ", waits for storage" : "");
    snprintf(numbers->best, sizeof numbers->best, "%.60s", *measured ? measured + 2 : "");
}

char *disttrain_done_column(const json_t *status) {
    int64_t wanted = tree_integer(status, "workers.wanted", 0);
    if (tree_get(status, "step")) {
        return x_printf("step %lld", (long long)tree_integer(status, "step", 0));
    }
    return wanted > 0
               ? x_printf("%lld/%lld", (long long)tree_integer(status, "workers.registered", 0),
                          (long long)wanted)
               : x_strdup(tree_text(status, "progress", ""));
}
