// SPDX-License-Identifier: Apache-2.0
/* Which callbacks of a kind the skeleton calls, and with which result: with a kind that records
 * the calls. */
#include "operator/kinds/job/plan_decide.h"

#include "tests/test.h"

struct plan {
    struct job_plan job;
    char calls[128];
    enum error_kind problem;     /* of the spec; ERROR_NONE: it can be read */
    enum conditions_state state; /* as go_on decides */
};

static struct plan *plan_of(struct job_plan *job) {
    return (struct plan *)job;
}

static void record(struct job_plan *job, const char *call) {
    struct plan *plan = plan_of(job);
    size_t used = strlen(plan->calls);
    snprintf(plan->calls + used, sizeof plan->calls - used, "%s%s", used ? " " : "", call);
}

static void read_pods(struct job_plan *job) {
    record(job, "read");
}

static int read_spec(struct job_plan *job, struct error *err) {
    enum error_kind problem = plan_of(job)->problem;
    record(job, "spec");
    return problem ? error_set(err, problem, "spec.text: is missing") : 0;
}

static void go_on(struct job_plan *job) {
    record(job, "go_on");
    conditions_set(&job->conditions, plan_of(job)->state, "Going", "on");
}

static void clean_up(struct job_plan *job, bool succeeded, bool all) {
    record(job, all ? "clean_all" : succeeded ? "clean_well" : "clean");
}

static void conclude(struct job_plan *job) {
    record(job, "conclude");
    job_plan_wake(job, job->now_ms + 7);
}

static json_t *make_status(struct job_plan *job, const json_t *object) {
    record(job, "status");
    return conditions_status(object, NULL, &job->conditions, job->now_ms);
}

static const struct job_plan_ops ops = {
    .begun = "status.begun",
    .read = read_pods,
    .read_spec = read_spec,
    .go_on = go_on,
    .clean_up = clean_up,
    .conclude = conclude,
    .status = make_status,
};

static const struct row {
    const char *object; /* with apostrophes for quotes */
    enum error_kind problem;
    enum conditions_state state;
    const char *calls, *reason; /* reason: of Succeeded; "": no status of the plan's */
} rows[] = {
    {"{}", ERROR_NONE, CONDITIONS_UNDER_WAY, "read spec go_on conclude status", "Going"},
    {"{}", ERROR_NONE, CONDITIONS_SUCCEEDED, "read spec go_on clean_well conclude status", "Going"},
    {"{}", ERROR_NONE, CONDITIONS_FAILED, "read spec go_on clean conclude status", "Going"},
    /* a spec that cannot be read fails a job, unless it has begun */
    {"{}", ERROR_INVALID, CONDITIONS_UNDER_WAY, "read spec clean conclude status", "SpecInvalid"},
    {"{'status': {'begun': 1}}", ERROR_INVALID, CONDITIONS_UNDER_WAY,
     "read spec go_on conclude status", "Going"},
    {"{'metadata': {'deletionTimestamp': '2026-11-22T00:00:00Z'}}", ERROR_NONE,
     CONDITIONS_UNDER_WAY, "read clean", ""},
    {"{'status': {'conditions': [{'type': 'Succeeded', 'status': 'True'}]}}", ERROR_NONE,
     CONDITIONS_UNDER_WAY, "read clean_well", ""},
    {"{'status': {'conditions': [{'type': 'Succeeded', 'status': 'False'}]}}", ERROR_NONE,
     CONDITIONS_UNDER_WAY, "read clean", ""},
    {"{'spec': {'ttlSecondsAfterFinished': 0}, 'status': {'completionTime': "
     "'2026-11-22T00:00:00Z', 'conditions': [{'type': 'Succeeded', 'status': 'True'}]}}",
     ERROR_NONE, CONDITIONS_UNDER_WAY, "read clean_all", ""},
};

static json_t *parse(const char *text) {
    AUTO(text_freep) char *quoted = x_strdup(text);
    for (char *at = quoted; *at; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    return json_loads(quoted, 0, NULL);
}

static void test_the_course_of_a_pass(void) {
    enum { NOW_S = 1795500000 }; /* in 2026 */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct error err = {0};
        AUTO(tree_freep) json_t *object = parse(row->object);
        AUTO(plan_result_release) struct plan_result result = {0};
        struct plan plan = {.problem = row->problem, .state = row->state};
        struct job_observed observed = {.object = object};
        CHECK(object != NULL);
        CHECK_OK(job_plan_decide(&plan.job, &ops, &observed, NOW_S * INT64_C(1000), &result, &err),
                 &err);
        CHECK_STR(plan.calls, row->calls);
        CHECK_INT(result.again_ms, *row->reason ? 7 : 0);
        if (*row->reason) {
            const json_t *condition =
                tree_find(json_object_get(result.status, "conditions"), "type", "Succeeded");
            CHECK_STR(tree_text(condition, "reason", ""), row->reason);
        }
        CHECK(json_array_size(result.create) == 0 && result.delete_count == 0);
        job_plan_release(&plan.job);
    }
}

/* A problem of this machine is an error of the pass, and not the end of the job. */
static void test_other_errors_are_returned(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = json_object();
    struct plan_result result = {0};
    struct plan plan = {.problem = ERROR_UNAVAILABLE};
    struct job_observed observed = {.object = object};
    CHECK(job_plan_decide(&plan.job, &ops, &observed, 1000, &result, &err) < 0);
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    CHECK_STR(plan.calls, "read spec");
    CHECK(!result.status);
    job_plan_release(&plan.job);
}

int main(void) {
    TEST(test_the_course_of_a_pass);
    TEST(test_other_errors_are_returned);
    return TEST_END();
}
