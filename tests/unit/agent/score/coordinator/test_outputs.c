// SPDX-License-Identifier: Apache-2.0
/* The end of a rerun: a coordinator is killed at each of its calls of the store, one after the
 * other, and a successor, another job or a restart goes on. What is in the output then is what a
 * first run makes of the same input: no file of an earlier generation is left. Every fourth call,
 * on each day others; SOAK_ROUNDS: all of them, and how many of the courses. */
#include "agent/score/coordinator/outputs.h"

#include "agent/data/kinds/output_name.h"
#include "agent/data/parts/pack.h"
#include "agent/result/output_lines.h"
#include "agent/score/coordinator/kept.h"
#include "agent/score/coordinator/rerun.h"
#include "agent/score/coordinator/stale.h"
#include "agent/score/coordinator/summary.h"
#include "agent/score/log/run_file.h"
#include "lib/digest.h"
#include "lib/time/clock.h"
#include "tests/broken_store.h"
#include "tests/seed.h"
#include "tests/unit/agent/data/tries.h"

#include <poll.h>
#include <sys/wait.h>

enum { LIVES_MAX = 8, YOUNG_MS = 60, CALLS_MAX = 1000, ANSWER_MAX = 4096 };

/* ---- one coordinator ------------------------------------------------------------------------ */

struct way {
    const char *name, *spec;
    bool has_files; /* a result is a file */
};

static const struct way files = {
    "files",
    "{\"input\":{\"files\":{\"path\":\"out/"
    "in\",\"pattern\":\"*\",\"order\":\"Name\"}},\"scorer\":{\"command\":{\"command\":[\"x\"],"
    "\"initTimeoutSeconds\":600}},"
    "\"output\":{\"path\":\"out/scored\",\"mode\":\"PerFile\"},\"miniBatchSize\":2}",
    true};
static const struct way rows = {
    "rows",
    "{\"input\":{\"files\":{\"path\":\"out/"
    "in\",\"pattern\":\"*\",\"order\":\"Name\"}},\"scorer\":{\"command\":{\"command\":[\"x\"],"
    "\"initTimeoutSeconds\":600}},"
    "\"output\":{\"path\":\"out/"
    "scored\",\"mode\":\"AppendRow\",\"appendRowFileName\":\"rows.txt\"},\"miniBatchSize\":2}",
    false};
static const struct way table = {
    "table",
    "{\"input\":{\"table\":{\"path\":\"out/"
    "t.csv\",\"pattern\":\"*\",\"format\":\"CSV\",\"header\":true}},\"scorer\":{\"command\":{"
    "\"command\":[\"x\"],\"initTimeoutSeconds\":600}},"
    "\"output\":{\"path\":\"out/"
    "scored\",\"mode\":\"AppendRow\",\"appendRowFileName\":\"rows.txt\"},\"miniBatchSize\":2}",
    false};

/* A job is applied: its way, its uid, and the text of --restart. */
struct applied {
    const struct way *way;
    const char *uid, *restart;
};

static struct job job_of(const struct applied *applied, char run[static 17]) {
    struct error err = {0};
    json_t *spec = NULL;
    char hex[65];
    digest_sha256(applied->way->spec, strlen(applied->way->spec), hex);
    snprintf(run, 17, "%.16s", hex);
    CHECK_OK(tree_parse(applied->way->spec, strlen(applied->way->spec), 4096, &spec, &err), &err);
    return (struct job){.name = "j",
                        .run = run,
                        .uid = applied->uid,
                        .restart = applied->restart,
                        .spec = spec,
                        .output = "out/scored",
                        .batch_items = 2,
                        .max_tries = 2,
                        .timeout_ms = 60000,
                        .slots = 1,
                        .errors_max = -1,
                        .cell_errors_max = -1,
                        .cell_errors_percent = -1};
}

static void ignore(void *context UNUSED, const struct journal_entry *entry UNUSED) {
}

static int store_all(struct journal *journal, struct error *err) {
    while (!journal_is_stored(journal)) {
        if (journal_turn(journal, true, ignore, NULL, err) < 0) {
            return -1;
        }
        poll(NULL, 0, 1);
    }
    return 0;
}

/* The result of a file is its content; one with "bad" fails: 1. */
static int add_file(struct prepared_job *prepared, struct staged_output *staged, struct pack *pack,
                    const char *name, struct error *err) {
    char path[4400];
    AUTO(text_freep) char *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/in/%s", fixtures_out, name);
    if (file_read(path, ANSWER_MAX, &text, &size, err) < 0) {
        return -1;
    }
    if (strstr(text, "bad")) {
        return 1;
    }
    AUTO(text_freep)
    char *result = x_printf("%s%s", name, output_name_added(prepared->given));
    return pack ? pack_add(pack, result, text, size, err)
                : staged_output_add(staged, text, size, err);
}

static int add_results(struct prepared_job *prepared, const struct ledger_lease *lease,
                       struct staged_output *staged, json_t *failures, int64_t *ret_items,
                       struct error *err) {
    AUTO(text_freep) char *work = NULL;
    AUTO(tree_freep) json_t *lines = NULL;
    size_t i;
    json_t *line;
    if (prepared_work(prepared, lease->first, lease->cells, &work, err) < 0 ||
        tree_parse(work, strlen(work), 1 << 20, &lines, err) < 0) {
        return -1;
    }
    if (!kept_has_items(prepared)) {
        *ret_items = 1;
        return staged_output_add(staged, "row\n", 4, err);
    }
    struct pack *pack = prepared->form == SINK_PACKS ? pack_new(staged) : NULL;
    int result = 0;
    json_array_foreach(lines, i, line) {
        const json_t *name = json_is_array(line) ? json_array_get(line, 0) : line;
        result = result < 0 ? -1 : add_file(prepared, staged, pack, json_string_value(name), err);
        if (result > 0) {
            json_array_append_new(failures, json_pack("[i,s]", (int)i, "bad"));
        }
        ++*ret_items;
    }
    result = result >= 0 && pack ? pack_close(pack, err) : result;
    pack_free(pack);
    return result;
}

static int score(struct prepared_job *prepared, int worker, struct error *err) {
    struct ledger_lease lease, ended;
    struct journal *journal = &prepared->journal;
    int64_t items = 0;
    if (!ledger_next_lease(journal->ledger, clock_monotonic_ms(), &lease)) {
        poll(NULL, 0, 1);
        return prepared_extend(prepared, err);
    }
    AUTO(staged_output_freep)
    struct staged_output *staged = staged_output_new(prepared->output, "none", true);
    AUTO(tree_freep) json_t *failures = json_array();
    if (add_results(prepared, &lease, staged, failures, &items, err) < 0 ||
        staged_output_close(staged, err) < 0) {
        return -1;
    }
    struct part part = staged_output_part(staged);
    struct ledger_report report = {
        .worker = worker, .lease = lease.lease, .items = items, .took_us = 1};
    report.failed = (int64_t)json_array_size(failures);
    report.is_final = report.failed > 0;
    struct message_result result = {.lease = lease.lease,
                                    .items = items,
                                    .failed = report.failed,
                                    .failures = report.failed ? failures : NULL,
                                    .place = MESSAGE_TEXT,
                                    .text = part.bytes,
                                    .text_size = (size_t)part.size_bytes,
                                    .size_bytes = part.size_bytes,
                                    .crc = part.crc};
    enum ledger_decision decision =
        ledger_take_report(journal->ledger, &report, clock_monotonic_ms(), &ended);
    return decision != LEDGER_DONE && decision != LEDGER_PARTIAL
               ? error_set(err, ERROR_FAILED, "decision %d", decision)
               : journal_accept(journal, decision, &ended, &result, NULL, err);
}

static int score_all(struct prepared_job *prepared, struct error *err) {
    struct journal *journal = &prepared->journal;
    int worker = 0;
    if (ledger_join(journal->ledger, "w", 1, &worker, err) < 0) {
        return -1;
    }
    while (!ledger_is_committed(journal->ledger)) {
        if (score(prepared, worker, err) < 0 || store_all(journal, err) < 0) {
            return -1;
        }
    }
    if (prepared->form == SINK_PACKS && journal_publish(journal, err) < 0) { /* as workers do */
        return -1;
    }
    return journal_end(journal, true, err) < 0 ? -1 : store_all(journal, err);
}

/* As coordinator.c does it. The summary stands for all reports. */
static int coordinate(struct job *job, struct prepared_job *prepared, struct error *err) {
    AUTO(tree_freep) json_t *outputs = json_array();
    AUTO(tree_freep) json_t *run = NULL;
    AUTO(tree_freep) json_t *none = json_object();
    struct parts parts = {0};
    struct store_info info;
    struct error unknown = {0};
    prepared->given = json_deep_copy(job->spec);
    run = run_file_make(job->spec, prepared->media, NULL, none);
    if (prepared_claim(job, prepared, false, run, err) < 0) {
        return -1;
    }
    if (ledger_is_committed(prepared->journal.ledger) &&
        store_stat(prepared->output, SUMMARY_NAME, &info, &unknown) == 0) {
        return 0;
    }
    prepared->is_foreign = rerun_is_foreign(prepared, job);
    if (score_all(prepared, err) < 0 || outputs_make(prepared, job, &parts, outputs, err) < 0 ||
        (prepared->is_foreign && rerun_look_again(prepared, job, err) < 0)) {
        return -1;
    }
    return store_put(prepared->output, SUMMARY_NAME, "{}", 2, STORE_REPLACE, err);
}

/* Its exit code: 0: the job has succeeded; 3: another one goes on. */
static int live(const struct applied *applied, int64_t kills_at) {
    struct error err = {0};
    char run[17];
    struct job job = job_of(applied, run);
    struct broken_options options = {.kills_at = kills_at};
    struct prepared_job prepared = {.lock_fd = -1, .cell_items = 2};
    CHECK_OK(media_find(job.spec, &prepared.media, &err), &err);
    prepared.form = sink_read_form(job.spec, prepared.media);
    prepared.cell_items = kept_has_items(&prepared) ? 2 : 1;
    prepared.output = broken_store(open_output(job.output), &options);
    int result = coordinate(&job, &prepared, &err);
    if (result < 0 && err.kind != ERROR_UNAVAILABLE) {
        printf("# %s\n", err.text);
    }
    return result == 0 ? 0 : err.kind == ERROR_UNAVAILABLE ? 3 : 1;
}

static int process(const struct applied *applied, int64_t kills_at) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        test_failures = 0;
        int code = live(applied, kills_at);
        fflush(stdout);
        _exit(test_failures ? 1 : code);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

/* Coordinators of one job, until it has ended. */
static void run_job(const struct applied *applied) {
    int code = 3;
    for (int i = 0; i < LIVES_MAX && code == 3; i++) {
        code = process(applied, 0);
    }
    CHECK_INT(code, 0);
}

/* ---- inputs and outputs --------------------------------------------------------------------- */

static void shell(const char *command) {
    char text[9000];
    snprintf(text, sizeof text, "cd %s && { %s; }", fixtures_out, command);
    CHECK_INT(system(text), 0);
}

/* Files that have just been written have no fingerprint yet. */
static void edit(const char *command) {
    shell(command);
    poll(NULL, 0, YOUNG_MS);
}

static int add_listed(void *context, const char *name, const struct store_info *info UNUSED,
                      struct error *err) {
    struct store *store = ((void **)context)[0];
    struct buffer *text = ((void **)context)[1];
    return strcmp(name, SUMMARY_NAME) == 0 ? 0
           : buffer_printf(text, err, "== %s\n", name) < 0 ||
                   store_get(store, name, text, NULL, err) < 0
               ? -1
               : 0;
}

/* All that the output has: names and bytes. */
static char *see_output(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_output("out/scored");
    struct buffer text;
    buffer_init(&text, 1 << 20);
    CHECK_OK(store_list(store, "", NULL, add_listed, (void *[]){store, &text}, &err), &err);
    return buffer_take(&text, NULL);
}

/* What a first run makes of today's input. */
static char *see_fresh(const struct way *way) {
    struct applied first = {way, "u-fresh", ""};
    shell("rm -rf aside && { [ ! -e scored ] || mv scored aside; }");
    run_job(&first);
    char *seen = see_output();
    shell("rm -rf scored && { [ ! -e aside ] || mv aside scored; }");
    return seen;
}

/* ---- killed at every call ------------------------------------------------------------------- */

struct course {
    const char *name;
    const struct way *first;
    struct applied second; /* whose coordinator is killed */
    struct applied third;
    const char *edit; /* of the input, before the third; "": none */
};

static const struct applied by_files = {&files, "u-2", ""}, by_rows = {&rows, "u-2", ""},
                            anew_files = {&files, "u-2", "t"}, to_rows = {&rows, "u-2", "t"},
                            to_table = {&table, "u-2", "t"};
#define OTHER(way, text)                                                                           \
    { way, "u-3", text }

/* The third is the killed one's successor, another job, or one that begins anew. The first ones run
 * in each test, all of them in a soak. */
enum { COURSES = 5 };
static const struct course courses[] = {
    {"files, another job", &files, by_files, OTHER(&files, ""), "echo later >in/d; echo e >in/e"},
    {"files anew, and again", &files, anew_files, OTHER(&files, "more"), "rm in/d"},
    {"rows, its successor", &rows, by_rows, {&rows, "u-2", ""}, ""},
    {"files to rows, and anew", &files, to_rows, OTHER(&rows, "more"), "rm in/d"},
    {"files to a table, another job", &files, to_table, OTHER(&table, "t"), ""},
    {"files, its successor", &files, by_files, {&files, "u-2", ""}, ""},
    {"files, made anew", &files, by_files, OTHER(&files, "more"), "rm in/d"},
    {"rows, another job", &rows, by_rows, OTHER(&rows, ""), "echo later >in/d; echo e >in/e"},
    {"files anew, its successor", &files, anew_files, {&files, "u-2", "t"}, ""},
    {"files anew, another job", &files, anew_files, OTHER(&files, "t"), "echo e >in/e"},
    {"files to rows, another job", &files, to_rows, OTHER(&rows, "t"), "echo e >in/e"},
    {"files to a table, its successor", &files, to_table, {&table, "u-2", "t"}, ""},
    {"files to a table, and anew", &files, to_table, OTHER(&table, "more"), ""},
};

/* Whether a coordinator is killed at this call. */
static bool is_tried(int64_t call) {
    return test_samples((uint64_t)call, CALLS_MAX, 4, test_day());
}

/* Leaves in killed/N the output of a coordinator that was killed at its call N. */
static int64_t kill_at_each_call(const struct course *course) {
    struct applied first = {course->first, "u-1", ""};
    edit("rm -rf in scored before killed && mkdir -p in killed && printf 'x\\n1\\n2\\n' >t.csv &&"
         "for i in a b c; do echo $i >in/$i; done");
    run_job(&first);
    edit("mv scored before && rm in/b && echo new >in/c && echo d >in/d");
    for (int64_t call = 1; call < CALLS_MAX; call++) {
        char command[200];
        if (!is_tried(call)) {
            continue;
        }
        shell("rm -rf scored && cp -a before scored");
        int code = process(&course->second, call);
        if (code != BROKEN_STORE_KILLED) {
            CHECK_INT(code, 0);
            return call - 1;
        }
        snprintf(command, sizeof command, "mv scored killed/%lld", (long long)call);
        shell(command);
    }
    return -1;
}

static void run_course(const struct course *course) {
    int64_t calls = kill_at_each_call(course);
    CHECK(calls > 20);
    if (*course->edit) {
        edit(course->edit);
    }
    shell("rm -rf scored");
    AUTO(text_freep) char *wanted = see_fresh(course->third.way);
    for (int64_t call = 1; call <= calls; call++) {
        char command[200];
        if (!is_tried(call)) {
            continue;
        }
        snprintf(command, sizeof command, "rm -rf scored && mv killed/%lld scored",
                 (long long)call);
        shell(command);
        run_job(&course->third);
        AUTO(text_freep) char *seen = see_output();
        if (strcmp(seen, wanted) != 0) {
            printf("# %s: killed at call %lld of %lld: the output is\n%s# expected\n%s",
                   course->name, (long long)call, (long long)calls, seen, wanted);
            test_failures++;
            return;
        }
    }
}

static void test_killed_at_every_call(void) {
    int64_t count = MIN(test_rounds(COURSES), (int64_t)ARRAY_LEN(courses));
    for (int64_t i = 0; i < count; i++) {
        run_course(&courses[i]);
    }
}

/* Jobs die at each call while they score a mini-batch of which item a fails; another job makes it
 * again, and what it leaves is as a first run's. True: also after a job that died at no call. */
static bool goes_on_after_each_call(const char *edits, const char *puts, const char *takes) {
    struct applied first = {&files, "u-1", ""}, second = {&files, "u-2", ""};
    for (int64_t call = 1; call < CALLS_MAX; call++) {
        if (!is_tried(call)) {
            continue;
        }
        edit("rm -rf scored; echo bad >in/a; echo b >in/b");
        if (process(&first, call) != BROKEN_STORE_KILLED) {
            return call > 20;
        }
        edit(edits);
        shell(puts);
        run_job(&second);
        shell(takes);
        AUTO(text_freep) char *seen = see_output();
        AUTO(text_freep) char *wanted = see_fresh(&files);
        if (strcmp(seen, wanted) != 0) {
            printf("# killed at call %lld: the output is\n%s# expected\n%s", (long long)call, seen,
                   wanted);
            return false;
        }
    }
    return false;
}

/* The first job has published a file. In the second one its item fails: the file does not stay. */
static void test_a_published_result_that_does_not_count_goes(void) {
    edit("rm -rf in scored before killed && mkdir -p in killed && echo c >in/c && echo d >in/d");
    CHECK(goes_on_after_each_call("echo a >in/a; echo bad >in/b", "true", "true"));
}

/* A user's own file, which has the name that the result of the failed item would have. */
static void test_a_file_of_a_failed_item_is_not_ours(void) {
    edit("rm -rf in scored before killed && mkdir -p in killed && echo c >in/c && echo d >in/d");
    CHECK(goes_on_after_each_call("true", "mkdir -p scored; echo mine >scored/a.json",
                                  "grep -q mine scored/a.json && rm scored/a.json"));
}

/* The coordinator died before it had written its summary; an earlier result.json is still there. */
static void test_made_once_more_nothing_says_that_they_are_whole(void) {
    static const struct applied first = {&files, "u-1", ""};
    edit("rm -rf in scored before killed && mkdir -p in killed && echo a >in/a && echo b >in/b");
    run_job(&first);
    shell("rm scored/summary.json && echo '{}' >scored/result.json");
    run_job(&first);
    shell("[ -e scored/summary.json ] && [ ! -e scored/result.json ]");
}

/* In memory, if it is a file system here: thousands of objects are stored durably. */
static void choose_folder(void) {
    char memory[] = "/dev/shm/windlass-XXXXXX";
    if (mkdtemp(memory)) {
        snprintf(fixtures_out, sizeof fixtures_out, "%s", memory);
        setenv("out", fixtures_out, 1);
    }
}

int main(void) {
    struct error ignored = {0};
    fixtures_start("outputs");
    choose_folder();
    TEST(test_a_published_result_that_does_not_count_goes);
    TEST(test_a_file_of_a_failed_item_is_not_ours);
    TEST(test_made_once_more_nothing_says_that_they_are_whole);
    TEST(test_killed_at_every_call);
    (void)!file_remove_tree(fixtures_out, &ignored);
    return TEST_END();
}
