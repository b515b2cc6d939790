// SPDX-License-Identifier: Apache-2.0
/* When a status is written: at once, a second after the last write, with the figures, or not. */
#include "operator/kinds/job/reconcile/status_write.h"

#include "operator/kinds/kinds.h"
#include "operator/operator_metrics.h"
#include "tests/test.h"

#include <stdlib.h>

enum { FIGURES_MS = 10000, START_MS = 1000000 };

/* With apostrophes for quotes. */
static json_t *parse(const char *text) {
    AUTO(text_freep) char *quoted = x_strdup(text);
    for (char *at = quoted; *at; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    json_t *tree = json_loads(quoted, 0, NULL);
    CHECK(tree);
    return tree;
}

/* How long the change waits; 0: written now, -1: neither written nor asked for again. */
static int64_t wait_of(struct status_write_record *record, const char *before, const char *after,
                       int64_t now_ms) {
    AUTO(tree_freep) json_t *old = parse(before);
    AUTO(tree_freep) json_t *status = parse(after);
    AUTO(tree_freep) json_t *object = json_pack("{s:s, s:O}", "kind", "BatchScore", "status", old);
    AUTO(tree_freep) json_t *writes = json_array();
    struct reconcile request = {
        .object = object, .monotonic_ms = now_ms, .figures_ms = FIGURES_MS, .writes = writes};
    bool is_done = status_write(&request, record, status);
    CHECK_INT(is_done, request.again_ms == 0);
    if (json_array_size(writes) > 0) {
        CHECK(json_equal(tree_get(writes, "[0].object.status"), status) ||
              json_equal(
                  json_object_get(json_object_get(json_array_get(writes, 0), "object"), "status"),
                  status));
        return 0;
    }
    return is_done ? -1 : request.again_ms;
}

#define RUNNING "'conditions': [{'type': 'Succeeded', 'status': 'Unknown', 'reason': 'Running'"

static void test_what_can_wait(void) {
    static const struct {
        const char *before, *after;
        int64_t wait_ms; /* 100 ms after the last write */
    } rows[] = {
        {"{'workers': 1}", "{'workers': 1}", -1},
        /* time alone */
        {"{'itemsPerSecond': '3', 'secondsLeft': 9}", "{'itemsPerSecond': '2', 'secondsLeft': 8}",
         -1},
        {"{'itemsPerSecond': '3', 'secondsLeft': 9}", "{}", -1},
        /* figures, with the rate */
        {"{'items': {'done': 1}, 'secondsLeft': 9}", "{'items': {'done': 2}, 'secondsLeft': 8}",
         FIGURES_MS - 100},
        {"{'step': 1, 'loss': '2'}", "{'step': 2, 'loss': '1'}", FIGURES_MS - 100},
        {"{" RUNNING ", 'message': 'a'}]}", "{" RUNNING ", 'message': 'b'}]}", FIGURES_MS - 100},
        {"{'workers': 2}", "{'workers': 1}", FIGURES_MS - 100},
        {"{'requests': {'answers': 1}}", "{'requests': {'answers': 2}}", FIGURES_MS - 100},
        {"{'requests': {'answers': 1, 'tokensPerSecond': 7}}",
         "{'requests': {'answers': 1, 'tokensPerSecond': 6}}", -1},
        {"{'requests': {'answers': 1}}", "{'requests': {'answers': 1, 'tokensPerSecond': 6}}", -1},
        /* what a user acts on */
        {"{}", "{'requests': {'answers': 1}}", 900},
        {"{'workers': 0}", "{'workers': 1}", 900},
        {"{'workers': {'registered': 1}}", "{'workers': {'registered': 0}}", 900},
        {"{}", "{'items': {'done': 1}}", 900},
        {"{'outputs': ['a']}", "{'outputs': ['a', 'b']}", 900},
        {"{'trials': {'running': 1}}", "{'trials': {'running': 2}}", 900},
        {"{'next': 1}", "{'next': 2}", 900},
        /* conditions */
        {"{'conditions': []}", "{" RUNNING "}]}", 0},
        {"{" RUNNING "}]}", "{" RUNNING "}, {'type': 'Waiting', 'status': 'True'}]}", 0},
        {"{" RUNNING "}, {'type': 'Waiting', 'status': 'True'}]}", "{" RUNNING "}]}", 0},
        {"{" RUNNING "}, {'type': 'Waiting', 'status': 'True', 'reason': 'A'}]}",
         "{" RUNNING "}, {'type': 'Waiting', 'status': 'True', 'reason': 'B'}]}", 0},
        /* what a Sweep, or another coordinator, waits for */
        {"{'objective': {'at': '1'}}", "{'objective': {'at': '2'}}", 0},
        {"{'exclusive': true}", "{'exclusive': false}", 0},
        {"{'credentials': {'secret': 'a'}}", "{'credentials': {'secret': 'b'}}", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct status_write_record record = {.is_seen = true, .wrote_ms = START_MS};
        int64_t wait_ms = wait_of(&record, rows[i].before, rows[i].after, START_MS + 100);
        if (wait_ms != rows[i].wait_ms) {
            printf("# %s -> %s\n", rows[i].before, rows[i].after);
        }
        CHECK_INT(wait_ms, rows[i].wait_ms);
    }
}

/* A reason that goes to and fro each second is written ten times at once, and then every 15 s; the
 * end of the job does not wait. After two minutes without a change all is as at first. */
static void test_what_goes_to_and_fro(void) {
    static const char *const sides[] = {
        "{'conditions': [{'type': 'Succeeded', 'status': 'Unknown', 'reason': 'A'}]}",
        "{'conditions': [{'type': 'Succeeded', 'status': 'Unknown', 'reason': 'B'}]}"};
    static const char over[] =
        "{'conditions': [{'type': 'Succeeded', 'status': 'True', 'reason': 'C'}]}";
    struct status_write_record record = {.is_seen = true, .wrote_ms = START_MS};
    int written = 0, at_first = 0;
    for (int second = 0; second < 600; second++) {
        bool is_written = wait_of(&record, sides[written % 2], sides[(written + 1) % 2],
                                  START_MS + second * 1000) == 0;
        written += is_written;
        at_first += is_written && second < 10;
    }
    CHECK_INT(at_first, 10);
    CHECK(written > 40 && written <= 50);
    CHECK_INT(wait_of(&record, sides[0], over, START_MS + 600000), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(wait_of(&record, sides[0], sides[1], START_MS + 800000), 0);
    }
}

/* A worker that comes and goes all the time. */
static void test_workers_come_and_go(void) {
    static const char *const sides[] = {"{'workers': 0}", "{'workers': 1}"};
    struct status_write_record record = {.is_seen = true, .wrote_ms = START_MS};
    int written = 0;
    for (int second = 1; second <= 600; second++) {
        int64_t now_ms = START_MS + second * 1000;
        if (wait_of(&record, sides[written % 2], sides[(written + 1) % 2], now_ms) == 0) {
            record.wrote_ms = now_ms; /* as status_write_note does */
            written++;
        }
    }
    CHECK(written > 40 && written <= 50);
}

/* Every field of every status, so that a new one is not forgotten. */
static const struct {
    const char *name;
    int64_t wait_ms; /* of a change, as above */
} fields[] = {
    {"images", 900},
    {"observedGeneration", 900},
    {"specHash", 900},
    {"credentials", 0}, /* other writes depend on it */
    {"agentImage", 900},
    {"run", 900},
    {"exclusive", 900},
    {"progress", FIGURES_MS - 100},
    {"miniBatches", FIGURES_MS - 100},
    {"items", FIGURES_MS - 100},
    {"requests", FIGURES_MS - 100},
    {"workers", FIGURES_MS - 100},
    {"itemsPerSecond", -1},
    {"secondsLeft", -1},
    {"percent", FIGURES_MS - 100},
    {"metrics", FIGURES_MS - 100},
    {"startTime", 900},
    {"completionTime", 900},
    {"after", 900},
    {"outputs", 900},
    {"lost", 900},
    {"retiredWorkers", 900}, /* each at most once a worker */
    {"retired", 900},
    {"summary", 900},
    {"failedLog", 900},
    {"nextTime", 900},
    {"runs", 900},
    {"attempt", 900},
    {"step", FIGURES_MS - 100},
    {"epoch", FIGURES_MS - 100},
    {"loss", FIGURES_MS - 100},
    {"losses", FIGURES_MS - 100},
    {"firstLoss", FIGURES_MS - 100},
    {"lastLine", FIGURES_MS - 100},
    {"accuracy", FIGURES_MS - 100},
    {"samplesPerSecond", -1},
    {"trained", FIGURES_MS - 100},
    {"badSamples", FIGURES_MS - 100},
    {"checkpoint", FIGURES_MS - 100},
    {"proof", 900},
    {"objective", FIGURES_MS - 100},
    {"gathering", 900},
    {"restarts", 900},
    {"next", 900}, /* a Sweep's: by each trial, not by each report */
    {"trials", 900},
    {"best", 900},
    {"front", 900},
    {"conditions", 0}, /* but for a message: above */
};

static bool is_known(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void test_every_field_has_its_urgency(void) {
    static const char *const kinds[] = {"BatchScore", "DistTrain", "Sweep"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct error err = {0};
        AUTO(schema_freep) struct schema *schema = NULL;
        CHECK_OK(kinds_schema(kinds_find(kinds[i]), &schema, &err), &err);
        const json_t *all = tree_get(schema_root(schema), "properties.status.properties");
        const char *name;
        json_t *ignored;
        CHECK(json_object_size(all) > 5);
        json_object_foreach((json_t *)all, name, ignored) {
            if (!is_known(name)) {
                printf("# how long does status.%s of %s wait? Add it here, and to status_write.c "
                       "if it is a figure or a rate\n",
                       name, kinds[i]);
            }
            CHECK(is_known(name));
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        AUTO(text_freep) char *before = x_printf("{'%s': [{'n': 1}]}", fields[i].name);
        AUTO(text_freep) char *after = x_printf("{'%s': [{'n': 2}]}", fields[i].name);
        struct status_write_record record = {.is_seen = true, .wrote_ms = START_MS};
        int64_t wait_ms = wait_of(&record, before, after, START_MS + 100);
        if (wait_ms != fields[i].wait_ms) {
            printf("# status.%s\n", fields[i].name);
        }
        CHECK_INT(wait_ms, fields[i].wait_ms);
    }
}

#define PENDING "'conditions': [{'type': 'Succeeded', 'reason': 'Pending', 'status': 'Unknown'}]"
#define BEGUN "'credentials': {'created': false}, " PENDING

/* That a job begins is written a second after it was first seen, if there is not more to say, and
 * only where the definition is known to keep it and shows kstatus that nothing was seen yet. */
static void test_the_first_status(void) {
    static const struct {
        const char *before, *after;
        bool may_begin_late;
        int64_t wait_ms;
    } rows[] = {
        {"{'observedGeneration': -1}", "{" BEGUN "}", true, 900},
        {"{'observedGeneration': -1}", "{" BEGUN "}", false, 0},
        {"{}", "{" BEGUN "}", true, 0},
        {"{'observedGeneration': 1}", "{" BEGUN "}", true, 0},
        {"{'observedGeneration': -1}", "{" PENDING "}", true, 0}, /* of a Sweep */
        {"{'observedGeneration': -1}", "{'credentials': {'created': true}, " RUNNING "}]}", true,
         0},
        {"{'observedGeneration': -1}",
         "{'credentials': {}, 'conditions': [{'type': 'Succeeded', 'reason': 'Pending'}, "
         "{'type': 'Stalled', 'status': 'True'}]}",
         true, 0},
        {"{" BEGUN "}", "{'credentials': {'created': true}, " PENDING "}", false, 900},
        {"{" BEGUN "}", "{'credentials': {'created': true}, " RUNNING "}]}", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct status_write_record record = {.is_seen = true,
                                             .may_begin_late = rows[i].may_begin_late,
                                             .seen_ms = START_MS,
                                             .wrote_ms = START_MS};
        int64_t wait_ms = wait_of(&record, rows[i].before, rows[i].after, START_MS + 100);
        if (wait_ms != rows[i].wait_ms) {
            printf("# %s -> %s\n", rows[i].before, rows[i].after);
        }
        CHECK_INT(wait_ms, rows[i].wait_ms);
    }
}

/* A controller that takes over a thousand jobs writes their figures over the whole interval. */
static void test_a_new_controller_spreads_them(void) {
    int early = 0, total = 200;
    for (int i = 0; i < total; i++) {
        struct status_write_record record = {0};
        int64_t wait_ms = wait_of(&record, "{'step': 1}", "{'step': 2}", START_MS);
        CHECK(wait_ms >= 0 && wait_ms < FIGURES_MS);
        early += wait_ms < FIGURES_MS / 2;
    }
    CHECK(early > total / 4 && early < total * 3 / 4);
}

/* Writes of this many running jobs, whose figures change all the time, in that time: each is looked
 * at when its coordinator has answered, and when it asked to be. */
static int writes_of(int jobs, int64_t figures_ms, int64_t poll_ms, int64_t time_ms) {
    int writes = 0;
    AUTO(tree_freep) json_t *before = parse("{'items': {'done': 1}, 'secondsLeft': 9}");
    AUTO(tree_freep) json_t *after = parse("{'items': {'done': 2}, 'secondsLeft': 8}");
    AUTO(tree_freep) json_t *object = json_pack("{s:O}", "status", before);
    for (int job = 0; job < jobs; job++) {
        struct status_write_record record = {0};
        int64_t now_ms = START_MS, again_ms = 0;
        for (; now_ms < START_MS + time_ms; now_ms += again_ms ? MIN(again_ms, poll_ms) : poll_ms) {
            AUTO(tree_freep) json_t *asked = json_array();
            struct reconcile request = {.object = object,
                                        .monotonic_ms = now_ms,
                                        .figures_ms = figures_ms,
                                        .writes = asked};
            (void)!status_write(&request, &record, after);
            again_ms = request.again_ms;
            if (json_array_size(asked) > 0) {
                record.wrote_ms = now_ms; /* as status_write_note does */
                writes++;
            }
        }
    }
    return writes;
}

static void test_how_many_writes(void) {
    int six = writes_of(6, FIGURES_MS, 1000, 15000);
    CHECK(six >= 6 && six <= 12); /* it was 120 when each second was written */
    int thousand = writes_of(1000, 30303, 20000, 300000);
    CHECK(thousand > 300 * 30 && thousand < 300 * 40);
    printf("# 6 jobs in 15 s: %d writes; 1,000 jobs: %.1f a second\n", six, thousand / 300.0);
}

/* `kubectl get -w` of a job that runs: a row every FIGURES_MS, with the rate and the time left
 * of that moment, and none while nothing is done: the last rate stays. */
static void test_a_watch_sees_it_move(void) {
    enum { TIME_S = 120, IDLE_FROM_S = 60, IDLE_TO_S = 80 };
    struct status_write_record record = {.is_seen = true, .wrote_ms = START_MS};
    AUTO(tree_freep) json_t *written = parse("{'items': {'done': 0}}");
    int rows = 0, last_s = 0;
    for (int s = 1; s <= TIME_S; s++) {
        int done = MIN(s, IDLE_FROM_S) + MAX(s - IDLE_TO_S, 0);
        AUTO(tree_freep)
        json_t *status = json_pack("{s:{s:i}, s:o, s:i}", "items", "done", done, "itemsPerSecond",
                                   json_sprintf("%d.5", s), "secondsLeft", 1000 - s);
        AUTO(tree_freep) json_t *object = json_pack("{s:O}", "status", written);
        AUTO(tree_freep) json_t *writes = json_array();
        struct reconcile request = {.object = object,
                                    .monotonic_ms = START_MS + 1000 * s,
                                    .figures_ms = FIGURES_MS,
                                    .writes = writes};
        (void)!status_write(&request, &record, status);
        bool is_idle = done == tree_integer(written, "items.done", -1);
        CHECK(json_array_size(writes) > 0 || is_idle || s - last_s < FIGURES_MS / 1000);
        if (json_array_size(writes) == 0) {
            continue;
        }
        CHECK(!is_idle);
        json_decref(written);
        written = json_incref(tree_get(json_array_get(writes, 0), "object.status"));
        CHECK(json_equal(written, status)); /* the rate is this second's */
        record.wrote_ms = request.monotonic_ms;
        last_s = s;
        rows++;
    }
    CHECK(rows >= 9 && rows <= 12);
    CHECK(tree_get(written, "itemsPerSecond") && tree_get(written, "secondsLeft"));
}

/* A status that waits to be written is counted at once, and not again when it is written. */
static void test_metrics_do_not_wait(void) {
    static const char row[] = "\nwindlass_items_total{result=\"done\"} ";
    AUTO(tree_freep) json_t *writes = json_array();
    AUTO(tree_freep)
    json_t *object = parse("{'metadata': {'uid': 'm-1'}, 'status': {'items': {'done': 1}}}");
    struct status_write_record record = {.is_seen = true, .wrote_ms = START_MS};
    AUTO(text_freep) char *before = operator_metrics_page();
    double was = strtod(strstr(before, row) + strlen(row), NULL);
    for (int done = 2; done <= 9; done++) {
        AUTO(tree_freep) json_t *status = json_pack("{s:{s:i}}", "items", "done", done);
        struct reconcile request = {.object = object,
                                    .monotonic_ms = START_MS + done,
                                    .figures_ms = FIGURES_MS,
                                    .writes = writes};
        CHECK(!status_write(&request, &record, status));
    }
    AUTO(text_freep) char *after = operator_metrics_page();
    CHECK_INT(strtod(strstr(after, row) + strlen(row), NULL) - was, 8);
    operator_metrics_forget(object);
}

int main(void) {
    TEST(test_what_can_wait);
    TEST(test_what_goes_to_and_fro);
    TEST(test_workers_come_and_go);
    TEST(test_every_field_has_its_urgency);
    TEST(test_the_first_status);
    TEST(test_a_new_controller_spreads_them);
    TEST(test_how_many_writes);
    TEST(test_a_watch_sees_it_move);
    TEST(test_metrics_do_not_wait);
    return TEST_END();
}
