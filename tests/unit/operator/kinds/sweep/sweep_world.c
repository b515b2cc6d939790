// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/operator/kinds/sweep/sweep_world.h"

#include "tests/plan_result_json.h"
#include "tests/status_life.h"
#include "tests/write_failures_json.h"

const int64_t start_ms = 1790000000000;
struct schema *train;

void open_world(struct world *world, const char *spec) {
    static const char written[] = ", outputs: [{id: MODEL, path: out/models}], volumes: "
                                  "[{name: out, persistentVolumeClaim: {claimName: out}}]";
    AUTO(text_freep)
    char *text =
        x_printf("{apiVersion: windlass.dev/v1alpha1, kind: Sweep, metadata: {name: s, uid: "
                 "01234567-0123-0123-0123-0123456789ab, generation: 1, creationTimestamp: "
                 "'2026-11-22T09:44:00Z'}, spec: {%s, trial: "
                 "{workers: 1, image: i, launcher: None, command: [x, $(X)]%s}}}",
                 spec, strstr(spec, "register: ") ? written : "");
    struct error err = {0};
    *world = (struct world){.trials = json_object(),
                            .made = json_object(),
                            .write_failures = json_object(),
                            .pods = json_object(),
                            .registered = -1,
                            .now_ms = start_ms,
                            .chance = test_seed(1)};
    CHECK_OK(resource_parse("sweep.yaml", text, strlen(text), &world->sweep, &err), &err);
}

void close_world(struct world *world) {
    json_decref(world->sweep);
    json_decref(world->trials);
    json_decref(world->made);
    json_decref(world->write_failures);
    json_decref(world->pods);
}

static double x_of(const json_t *trial) {
    return strtod(
        json_string_value(json_object_get(tree_get(trial, "spec.environment"), "PARAM_X")), NULL);
}

/* The more reports the better, and the better the nearer X is to 0.7. */
double value_after(const json_t *trial, int64_t reports) {
    return (1 - fabs(x_of(trial) - 0.7)) * (1 - exp(-(double)reports / 5));
}

void end_trial(json_t *trial, const char *status, const char *reason, const char *message) {
    json_object_set_new(tree_ensure_object(trial, "status"), "conditions",
                        json_pack("[{s:s, s:s, s:s, s:s}]", "type", "Succeeded", "status", status,
                                  "reason", reason, "message", message));
}

bool has_ended(const json_t *trial) {
    return object_condition(json_object_get(trial, "status"), "Succeeded") != NULL;
}

void report(const struct world *world, json_t *trial, int64_t reports) {
    struct curve curve = {0};
    double best = -INFINITY, mean = 0;
    for (int64_t k = 1; k <= reports; k++) {
        double value = value_after(trial, k);
        best = fmax(best, value);
        mean += (value - mean) / (double)k;
        if (curve_is_due(k, 1, 0)) {
            curve_add(&curve, &(struct curve_point){k, best, mean, -1});
        }
    }
    char text[CURVE_TEXT_MAX], number[32];
    curve_write(&curve, text);
    snprintf(number, sizeof number, "%.9g", best);
    json_t *objective = world->is_silent
                            ? json_pack("{s:I, s:[s, s], s:I}", "reports", (json_int_t)0, "others",
                                        "acc", "loss", "otherReports", (json_int_t)reports)
                            : json_pack("{s:I, s:s, s:s}", "reports", (json_int_t)reports, "best",
                                        number, "at", text);
    json_object_set_new(tree_ensure_object(trial, "status"), "objective", objective);
    curve_release(&curve);
}

/* ---- the pods that register ---- */

static bool is_alive(const json_t *pod) {
    const char *phase = tree_text(pod, "status.phase", "");
    return strcmp(phase, "Pending") == 0 || strcmp(phase, "Running") == 0;
}

static void end_pod(const struct world *world, json_t *pod, int code) {
    char now[21];
    clock_format(world->now_ms, now);
    json_object_set_new(pod, "status",
                        json_pack("{s:s, s:[{s:s, s:{s:{s:i, s:s, s:s}}}]}", "phase",
                                  code == 0 ? "Succeeded" : "Failed", "containerStatuses", "name",
                                  "agent", "state", "terminated", "exitCode", code, "finishedAt",
                                  now, "message",
                                  "{\"state\": \"?\", \"message\": \"the disk is full\"}"));
}

bool one_of(struct world *world, int many) {
    return many > 0 && test_below(&world->chance, (uint64_t)many) == 0;
}

static void turn_pod(struct world *world, json_t *pod) {
    if (strcmp(tree_text(pod, "status.phase", ""), "Pending") == 0) {
        json_object_set_new(pod, "status", json_pack("{s:s}", "phase", "Running"));
    } else if (one_of(world, world->evicting)) {
        json_object_set_new(pod, "status",
                            json_pack("{s:s, s:s, s:s}", "phase", "Failed", "reason", "Evicted",
                                      "message", "The node was low on resource: memory."));
    } else if (one_of(world, world->fatal)) {
        bool is_final = one_of(world, world->final);
        world->is_final |= is_final;
        world->died++;
        end_pod(world, pod, is_final ? 2 : 3);
    } else {
        end_pod(world, pod, 0);
        world->registered = strtoll(owned_label(pod, LABEL_INDEX) ?: "-1", NULL, 10);
    }
}

static void turn_pods(struct world *world) {
    const char *name;
    json_t *pod;
    json_object_foreach(world->pods, name, pod) {
        if (is_alive(pod) && test_below(&world->chance, 2) == 0) {
            turn_pod(world, pod);
        }
    }
}

/* Each running trial makes some more reports; one with a stop has ended. */
void turn(struct world *world) {
    const char *name;
    json_t *trial;
    int running = 0;
    turn_pods(world);
    json_object_foreach(world->trials, name, trial) {
        if (has_ended(trial) || tree_bool(trial, "spec.suspend", false)) {
            continue;
        }
        running++;
        int64_t reports = tree_integer(trial, "status.objective.reports", 0) +
                          tree_integer(trial, "status.objective.otherReports", 0) +
                          (int64_t)test_below(&world->chance, 5);
        if (tree_text(trial, "spec.stop", NULL)) {
            end_trial(trial, "False", "Stopped", tree_text(trial, "spec.stop", ""));
            world->stops++;
        } else if (world->failing > 0 &&
                   test_mix((uint64_t)(x_of(trial) * 1e6)) % (uint64_t)world->failing == 0) {
            end_trial(trial, "False", "RankFailed", "rank 0 ended with 7");
        } else {
            report(world, trial, MIN(reports, REPORTS));
            if (reports >= REPORTS) {
                end_trial(trial, "True", "Completed", "");
            }
        }
    }
    world->running_most = MAX(world->running_most, running);
}

/* ---- writes ---- */

static bool create(struct world *world, const json_t *made) {
    const char *name = tree_text(made, "metadata.name", "");
    AUTO(text_freep) char *key = x_printf("DistTrain %s", name);
    if (world->refusing > 0 && test_below(&world->chance, (uint64_t)world->refusing) == 0) {
        json_object_set_new(world->write_failures, key,
                            json_pack("{s:s, s:s}", "why", "Denied", "text", "quota"));
        return false;
    }
    json_object_del(world->write_failures, key);
    if (json_object_get(world->trials, name)) {
        return true; /* CONFLICT: it exists */
    }
    json_t *trial = json_deep_copy(made);
    json_object_set_new(json_object_get(trial, "metadata"), "uid", json_string(name));
    json_object_set_new(world->trials, name, trial);
    int64_t before = json_integer_value(json_object_get(world->made, name));
    json_object_set_new(world->made, name, json_integer(before + 1));
    return true;
}

static void create_pod(struct world *world, const json_t *made) {
    const char *name = tree_text(made, "metadata.name", ""), *other;
    AUTO(text_freep) char *key = x_printf("Pod %s", name);
    char now[21];
    json_t *one;
    if (one_of(world, world->refusing)) {
        json_object_set_new(world->write_failures, key,
                            json_pack("{s:s, s:s}", "why", "Denied", "text", "quota"));
        return;
    }
    json_object_del(world->write_failures, key);
    if (json_object_get(world->pods, name)) {
        return; /* CONFLICT: it exists */
    }
    json_object_foreach(world->pods, other, one) { /* one at a time, and not more than needed */
        CHECK(!is_alive(one) && strcmp(tree_text(one, "status.phase", ""), "Succeeded") != 0);
    }
    json_object_foreach(world->trials, other, one) {
        CHECK(has_ended(one));
    }
    json_t *pod = json_deep_copy(made);
    clock_format(world->now_ms, now);
    json_object_set_new(json_object_get(pod, "metadata"), "creationTimestamp", json_string(now));
    json_object_set_new(pod, "status", json_pack("{s:s}", "phase", "Pending"));
    json_object_set_new(world->pods, name, pod);
    world->pods_made++;
}

static void apply(struct world *world, const json_t *change) {
    json_t *trial = json_object_get(world->trials, tree_text(change, "metadata.name", ""));
    if (trial &&
        strcmp(tree_text(change, "metadata.uid", "?"), tree_text(trial, "metadata.uid", "")) == 0) {
        const char *stop = tree_text(trial, "spec.stop", NULL);
        json_object_update(json_object_get(trial, "spec"), json_object_get(change, "spec"));
        CHECK(!stop || strcmp(stop, tree_text(trial, "spec.stop", "")) == 0);
    }
}

static int by_index(const void *left, const void *right) {
    int64_t a = ((const struct trial_row *)left)->index,
            b = ((const struct trial_row *)right)->index;
    return (a > b) - (a < b);
}

json_t *plan(const struct world *world) {
    struct trial_row *rows = x_calloc(json_object_size(world->trials) + 1, sizeof *rows);
    struct sweep_spec spec;
    struct error err = {0};
    size_t count = 0;
    const char *name;
    json_t *trial;
    AUTO(tree_freep) json_t *pods = json_array();
    CHECK_OK(sweep_spec_read(world->sweep, &spec, &err), &err);
    json_object_foreach(world->trials, name, trial) {
        CHECK(trial_row_read(trial, &spec.space, spec.metric, &rows[count]));
        count++;
    }
    qsort(rows, count, sizeof *rows, by_index);
    struct write_failure failures_at[WRITE_FAILURES_JSON_MAX];
    struct write_failures failures = write_failures_from(world->write_failures, failures_at);
    struct sweep_observed observed = {
        .job = {.object = world->sweep, .pods = pods, .write_failures = &failures},
        .train = train,
        .rows = rows,
        .count = count};
    json_object_foreach(world->pods, name, trial) {
        json_array_append(pods, trial);
    }
    struct plan_result result = {0};
    CHECK_OK(sweep_decide(&observed, world->now_ms, &result, &err), &err);
    for (size_t i = 0; i < count; i++) {
        trial_row_release(&rows[i]);
    }
    free(rows);
    return plan_result_json(&result);
}

/* All writes of a reconcile pass in some order, or only some of them. */
static void carry_out(struct world *world, const json_t *result) {
    const json_t *creates = json_object_get(result, "create"),
                 *applies = json_object_get(result, "apply");
    size_t all = json_array_size(creates) + json_array_size(applies) + 1, done = 0;
    bool is_cut = world->lossy > 0 && test_below(&world->chance, (uint64_t)world->lossy) == 0;
    size_t left = is_cut ? test_below(&world->chance, all) : all;
    AUTO(tree_freep) json_t *writes = json_array();
    json_array_extend(writes, (json_t *)creates);
    json_array_extend(writes, (json_t *)applies);
    json_array_append(writes, json_object_get(result, "status"));
    for (size_t i = all; i > 1; i--) { /* Fisher and Yates */
        size_t other = test_below(&world->chance, i);
        json_t *a = json_incref(json_array_get(writes, i - 1));
        json_array_set(writes, i - 1, json_array_get(writes, other));
        json_array_set_new(writes, other, a);
    }
    for (; done < left; done++) {
        json_t *one = json_array_get(writes, done);
        if (one == json_object_get(result, "status")) {
            test_failures += status_life_store(world->sweep, one);
        } else if (strcmp(tree_text(one, "kind", ""), "Pod") == 0) {
            create_pod(world, one);
        } else if (tree_get(one, "spec.command")) {
            create(world, one);
        } else {
            apply(world, one);
        }
    }
}

const json_t *succeeded(const struct world *world) {
    return object_condition(json_object_get(world->sweep, "status"), "Succeeded");
}

bool is_over(const struct world *world) {
    return strcmp(tree_text(succeeded(world), "status", "Unknown"), "Unknown") != 0;
}

void look(struct world *world) {
    AUTO(tree_freep) json_t *result = plan(world);
    carry_out(world, result);
    world->now_ms += STEP_MS;
}

void live(struct world *world) {
    for (int i = 0; i < LOOKS_MAX && world->sweep && !is_over(world); i++) {
        look(world);
        turn(world);
    }
    CHECK(is_over(world));
}

/* Of the completed trials. */
double best_of(const struct world *world) {
    double best = -INFINITY;
    const char *name;
    json_t *trial;
    json_object_foreach(world->trials, name, trial) {
        bool is_well = strcmp(tree_text(trial, "status.conditions[0].status", ""), "True") == 0;
        best = is_well ? fmax(best, value_after(trial, REPORTS)) : best;
    }
    return best;
}

void check_end(const struct world *world, const char *status, const char *reason) {
    CHECK_STR(tree_text(succeeded(world), "status", ""), status);
    CHECK_STR(tree_text(succeeded(world), "reason", ""), reason);
}

void check_made_once(const struct world *world, size_t count) {
    CHECK_INT(json_object_size(world->made), count);
    const char *name;
    json_t *times;
    json_object_foreach(world->made, name, times) {
        CHECK_INT(json_integer_value(times), 1);
    }
}

int world_failures(void) {
    return test_failures + test_failures_total + (*test_skip_reason != 0);
}
