// SPDX-License-Identifier: Apache-2.0
/* The files of a run for people: pages with any names and causes, and all files over a real commit
 * log. REPORT_PAGES=folder: writes pages there for test_report.sh and for review. */
#include "agent/score/report/report.h"

#include "lib/file.h"
#include "lib/text/csv.h"
#include "lib/text/page.h"
#include "lib/time/clock.h"
#include "lib/tree.h"
#include "tests/page_check.h"
#include "tests/test.h"
#include "tests/unit/agent/score/report/made_up.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static struct report_options options_of(const char *job) {
    return (struct report_options){.job = job,
                                   .name_space = "films",
                                   .run = "5f0c5f0c5f0c5f0c",
                                   .state = "Succeeded",
                                   .message = "",
                                   .unit = "files",
                                   .items = -1,
                                   .cells = 1 << 24,
                                   .slots = 1};
}

/* ---- made-up runs --------------------------------------------------------------------------- */

struct shape {
    int workers, slots, fail_permille, partial_permille;
    int64_t batches, items, mean_ms;
    int epochs;
    const char *names, *cause; /* printf formats with one number */
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void format_name(char text[static 128], const char *format, int64_t number) {
    snprintf(text, 128, format, (int)number);
}
#pragma GCC diagnostic pop

static struct facts *make_run(const struct shape *shape) {
    struct facts *facts = facts_new();
    int places = shape->workers * shape->slots;
    int64_t *free_ms = x_calloc((size_t)places, sizeof *free_ms);
    int64_t per_epoch = shape->batches / shape->epochs + 1;
    for (int64_t i = 0; i < shape->batches; i++) {
        if (i % per_epoch == 0) { /* workers come one after the other */
            for (int p = 0; p < places; p++) {
                free_ms[p] = 200 + any(3000) * (p % 10 == 0);
            }
        }
        int place = (int)(i % places);
        char name[128], cause[128];
        format_name(name, shape->names, place / shape->slots);
        format_name(cause, shape->cause, any(100000));
        int64_t dice = any(1000);
        bool is_failed = dice < shape->fail_permille;
        bool is_partial = !is_failed && dice < shape->fail_permille + shape->partial_permille;
        AUTO(tree_freep)
        json_t *failures = is_partial ? json_pack("[[is]]", 0, "no such shop") : NULL;
        struct commit_record record = {.type = is_failed    ? COMMIT_FAILED
                                               : is_partial ? COMMIT_PARTIAL
                                                            : COMMIT_DONE,
                                       .first = i,
                                       .cells = 1,
                                       .items = shape->items,
                                       .failed = is_failed ? shape->items : is_partial,
                                       .epoch = i / per_epoch * 7,
                                       .lease = i,
                                       .try = is_failed ? 3 : 1 + (any(50) == 0),
                                       .worker = name,
                                       .start_ms = free_ms[place] + any(4),
                                       .took_ms = some_ms(shape->mean_ms),
                                       .text = is_failed ? cause : NULL,
                                       .text_size = is_failed ? strlen(cause) : 0,
                                       .failures = failures};
        free_ms[place] = record.start_ms + record.took_ms;
        facts_add(facts, &record, 1);
    }
    facts_finish(facts);
    free(free_ms);
    return facts;
}

static void check_page(const struct facts *facts, const struct report_options *options,
                       const char *name) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer page;
    buffer_init(&page, REPORT_PAGE_MAX);
    CHECK_OK(report_page(&page, facts, options, &err), &err);
    const char *at = "", *fault = page_fault(page.data ? page.data : "", &at);
    if (fault) {
        printf("# %s: %s at: %.60s\n", name, fault, at);
    }
    CHECK(!fault);
    CHECK(page.size < 200000);
    const char *folder = getenv("REPORT_PAGES");
    if (folder) {
        AUTO(text_freep) char *path = x_printf("%s/%s.html", folder, name);
        CHECK_OK(file_write(path, page.data, page.size, &err), &err);
    }
}

static void pages_of_many_kinds(void) {
    static const struct {
        const char *name;
        struct shape shape;
        int64_t total;
        const char *message;
    } rows[] = {
        {"one", {1, 1, 0, 0, 35, 8, 800, 1, "style-transfer-worker-%d", ""}, 280, ""},
        {"few",
         {4, 1, 20, 30, 900, 10, 2300, 2, "churn-worker-%d", "exit code 139"},
         9000,
         "4 of 9,000 files failed, as many as errorThreshold allows"},
        {"fifty",
         {50, 2, 2, 5, 20000, 100, 900, 3, "churn-worker-%d", "no such shop: %d"},
         2000000,
         ""},
        {"thousand",
         {1000, 1, 1, 1, 1000000, 10, 400, 1, "churn-worker-%d",
          "no answer within %d s; the last line on stdout was: loading"},
         10000000,
         ""},
        {"all-failed",
         {8, 1, 1000, 0, 500, 10, 50, 1, "churn-worker-%d",
          "Traceback (most recent call last): File \"score.py\", line %d, in run: "
          "CUDA out of memory"},
         5000,
         "500 of 500 mini-batches failed, miniBatchErrorThreshold is 5%"},
    };
    seed_now = 4;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(facts_freep) struct facts *facts = make_run(&rows[i].shape);
        struct report_options options = options_of("churn");
        options.items = rows[i].total;
        options.message = rows[i].message;
        options.is_failed = rows[i].shape.fail_permille == 1000;
        options.state = options.is_failed ? "Failed" : "Succeeded";
        options.slots = rows[i].shape.slots;
        AUTO(tree_freep)
        json_t *requests = json_pack("{s:I, s:i, s:i, s:I, s:s, s:s}", "requests", rows[i].total,
                                     "busy", 1234, "p99Milliseconds", 700, "gpuSeconds", INT64_MAX,
                                     "cost", "0.5<b>", "tokensIn", "no number");
        options.requests = i % 2 ? requests : NULL;
        options.started_wall_ms = 1763730000000;
        options.completed_wall_ms = 1763730000000 + facts->end_ms + 5300;
        check_page(facts, &options, rows[i].name);
    }
}

static void a_run_without_a_mini_batch(void) {
    AUTO(facts_freep) struct facts *facts = facts_new();
    facts_finish(facts);
    struct report_options options = options_of("churn");
    options.state = "Failed";
    options.is_failed = true;
    options.message = "model/starry.onnx: there is no such file";
    check_page(facts, &options, "none");
}

/* ---- hostile names -------------------------------------------------------------------------- */

static void hostile_names_stay_text(void) {
    for (size_t i = 0; i < PAGE_ATTACKS; i++) {
        AUTO(facts_freep) struct facts *facts = facts_new();
        AUTO(tree_freep) json_t *failures = json_pack("[[is]]", 0, "x");
        json_t *bytes = json_stringn_nocheck(page_attacks[i], strlen(page_attacks[i]));
        json_array_set_new(json_array_get(failures, 0), 1, bytes);
        struct commit_record failed = {.type = COMMIT_FAILED,
                                       .cells = 1,
                                       .items = 1,
                                       .failed = 1,
                                       .try = 1,
                                       .worker = page_attacks[i],
                                       .took_ms = 5,
                                       .text = page_attacks[i],
                                       .text_size = strlen(page_attacks[i])};
        facts_add(facts, &failed, 1);
        failed.type = COMMIT_PARTIAL;
        failed.first = 1;
        failed.failures = failures;
        facts_add(facts, &failed, 1);
        failed.type = COMMIT_END;
        facts_add(facts, &failed, 0);
        facts_finish(facts);
        struct report_options options = options_of(page_attacks[i]);
        options.name_space = options.run = options.state = options.message = page_attacks[i];
        char name[32];
        snprintf(name, sizeof name, "hostile-%02zu", i);
        check_page(facts, &options, name);
    }
}

static void hostile_numbers_do_no_harm(void) {
    static const int64_t numbers[] = {0, 1, 7, INT64_MAX / 2, INT64_MAX};
    AUTO(facts_freep) struct facts *facts = facts_new();
    for (int64_t i = 0; i < 3000; i++) {
        struct commit_record record = {.type = i % 3 ? COMMIT_DONE : COMMIT_FAILED,
                                       .first = INT64_MAX / 2,
                                       .cells = 1,
                                       .items = numbers[any(5)],
                                       .epoch = i / 100,
                                       .try = 65536,
                                       .worker = "w",
                                       .start_ms = numbers[any(5)],
                                       .took_ms = numbers[any(5)],
                                       .text = "x",
                                       .text_size = 1};
        record.failed = i % 3 ? 0 : record.items;
        facts_add(facts, &record, 1);
    }
    facts_finish(facts);
    struct report_options options = options_of("churn");
    options.slots = 1024;
    check_page(facts, &options, "hostile-numbers");
}

/* ---- text ----------------------------------------------------------------------------------- */

/* With spaces that do not break. */
static void numbers_are_for_people(void) {
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{0, "0 ms"},
                {999, "999 ms"},
                {1000, "1.00 s"},
                {9994, "9.99 s"},
                {9995, "10.0 s"},
                {59949, "59.9 s"},
                {59950, "1 min 00 s"},
                {245000, "4 min 05 s"},
                {3599499, "59 min 59 s"},
                {3599500, "1 h 00 min"},
                {12000000, "3 h 20 min"},
                {187200000, "2 d 4 h"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(page_release) struct page page;
        page_init(&page, 1000);
        page_time(&page, rows[i].ms);
        CHECK_STR(page.text.data, rows[i].text);
    }
    static const struct {
        double share;
        const char *text;
    } shares[] = {
        {0, "0 %"}, {0.00001, "0.1 %"}, {0.973, "97.3 %"}, {0.9999, "99.9 %"}, {1, "100 %"}};
    for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
        AUTO(page_release) struct page page;
        page_init(&page, 1000);
        page_percent(&page, shares[i].share);
        CHECK_STR(page.text.data, shares[i].text);
    }
    AUTO(page_release) struct page page;
    page_init(&page, 1000);
    page_count(&page, 1234567);
    page_add(&page, " ");
    page_count(&page, 999);
    page_add(&page, " ");
    page_rate(&page, 12345.6);
    CHECK_STR(page.text.data, "1,234,567 999 12,346");
}

static void a_full_page_says_so(void) {
    struct page page;
    page_init(&page, 10);
    page_add(&page, "%s", "12345678901");
    page_text(&page, "more", 0);
    CHECK_INT(page.err.kind, ERROR_EXHAUSTED);
    page_release(&page);
}

static void csv_fields_are_quoted_where_they_must(void) {
    static const struct {
        const char *text, *field;
    } rows[] = {{"plain", "plain"},
                {"", ""},
                {"a,b", "\"a,b\""},
                {"say \"no\"", "\"say \"\"no\"\"\""},
                {"two\nlines\r\n", "two lines  "},
                {"=SUM(A1)", "'=SUM(A1)"},
                {"-1,2", "\"'-1,2\""},
                {"bad \xFF", "bad \xEF\xBF\xBD"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(buffer_release) struct buffer line;
        buffer_init(&line, 1000);
        CHECK_OK(csv_text(&line, rows[i].text, strlen(rows[i].text), &err), &err);
        CHECK_STR(line.data ? line.data : "", rows[i].field);
    }
}

/* ---- all files, over a real log ------------------------------------------------------------- */

static char *volume;

static struct store *open_folder(const char *name) {
    struct error err = {0};
    struct store *store = NULL;
    AUTO(text_freep) char *path = x_printf("reporttest/%s", name);
    CHECK_OK(store_open(path, /* writes= */ true, &store, &err), &err);
    return store;
}

static int see_nothing(void *context, const struct commit_head *head,
                       const struct commit_record *record, struct error *err) {
    (void)context, (void)head, (void)record, (void)err;
    return 0;
}

static struct commit_log *open_log(struct store *store, const char *uid) {
    struct error err = {0};
    struct commit_log *log = NULL;
    struct commit_identity identity = {.run = "5f0c5f0c5f0c5f0c", .uid = uid, .job = "churn"};
    CHECK_OK(commit_open(store, &identity, see_nothing, NULL, &log, &err), &err);
    return log;
}

static void store_all(struct commit_log *log, int64_t count) {
    struct error err = {0};
    int64_t through = 0;
    while (through < count) {
        int turned = commit_poll(log, /* at_once= */ true, clock_monotonic_ms(), &through, &err);
        CHECK_OK(turned, &err);
        if (turned < 0) {
            return;
        }
        poll(NULL, 0, 1);
    }
}

static int name_item(void *context, int64_t first, int64_t index, struct buffer *name,
                     struct error *err) {
    const char *folder = context;
    return buffer_printf(name, err, "%s/%lld-%lld \"\xFF", folder, (long long)first,
                         (long long)index);
}

static char *read_output(const char *name) {
    struct error err = {0};
    char *text = NULL;
    size_t size = 0;
    AUTO(text_freep) char *path = x_printf("%s/out/%s", volume, name);
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    return text ? text : x_strdup("");
}

static int count_lines(const char *text) {
    int lines = 0;
    for (; *text; text++) {
        lines += *text == '\n';
    }
    return lines;
}

/* A coordinator that fails some, and one with another uid that does them again. */
static void write_lives(struct store *store) {
    struct error err = {0};
    for (int life = 0; life < 2; life++) {
        struct commit_log *log = open_log(store, life ? "uid-b" : "uid-a");
        int64_t added = 0;
        for (int64_t i = 0; i < 100 && log; i++) {
            bool fails = i % 10 == 0, stays_bad = i % 50 == 0, is_partial = i == 7;
            if (life == 1 && !fails) {
                continue;
            }
            AUTO(tree_freep) json_t *failures = json_pack("[[is]]", 1, "no, \"such\" shop");
            bool is_bad = life == 0 ? fails : stays_bad;
            struct commit_record record = {.type = is_bad       ? COMMIT_FAILED
                                                   : is_partial ? COMMIT_PARTIAL
                                                                : COMMIT_DONE,
                                           .first = i,
                                           .cells = 1,
                                           .items = 4,
                                           .failed = is_bad       ? 4
                                                     : is_partial ? 1
                                                                  : 0,
                                           .epoch = commit_epoch(log),
                                           .lease = i,
                                           .try = is_bad ? 3 : 1,
                                           .worker = i % 2 ? "w-1" : "w-0",
                                           .start_ms = i * 10,
                                           .took_ms = 9,
                                           .text = is_bad ? "exit code 139" : NULL,
                                           .text_size = is_bad ? strlen("exit code 139") : 0,
                                           .failures = is_partial ? failures : NULL};
            CHECK_OK(commit_add(log, &record, &err), &err);
            added++;
        }
        store_all(log, added);
        commit_free(log);
    }
}

static void the_whole_over_a_real_log(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_folder("out");
    write_lives(store);
    struct commit_log *log = open_log(store, "uid-b");
    struct report_options options = options_of("churn");
    options.items = 400;
    options.cells = 100;
    options.item = name_item;
    options.context = (void *)"in";
    CHECK_OK(report_write(store, log, &options, NULL, &err), &err);

    AUTO(text_freep) char *batches = read_output("mini_batches.csv");
    CHECK_INT(count_lines(batches), 101);
    CHECK(text_starts(batches, report_batches_head));
    CHECK(strstr(batches, "\n1,1,4,0,done,1,w-1,0.010,0.009,0,1,\n") != NULL);
    CHECK(strstr(batches, "\n7,1,4,1,partial,1,w-1,") != NULL);
    CHECK(strstr(batches, ",\"no, \"\"such\"\" shop\"\n") != NULL);
    AUTO(text_freep) char *failed = read_output("failed.jsonl");
    CHECK_INT(count_lines(failed), 9); /* two mini-batches of 4, one item */
    char *line, *rest = failed;
    while ((line = strsep(&rest, "\n")) && *line) {
        AUTO(tree_freep) json_t *tree = NULL;
        CHECK_OK(tree_parse(line, strlen(line), 10000, &tree, &err), &err);
        CHECK(text_starts(tree_text(tree, "item", ""), "in/"));
        bool is_seven = tree_integer(tree, "miniBatch", -1) == 7;
        CHECK_STR(tree_text(tree, "cause", ""), is_seven ? "no, \"such\" shop" : "exit code 139");
        CHECK_INT(tree_integer(tree, "tries", 0), is_seven ? 1 : 3);
    }
    AUTO(text_freep) char *workers = read_output("workers.csv");
    CHECK_INT(count_lines(workers), 3);
    AUTO(text_freep) char *page = read_output("report.html");
    const char *at = NULL;
    CHECK_STR(page_fault(page, &at) ? page_fault(page, &at) : "", "");
    CHECK(strstr(page, ">391</dd><dd>of 400 files") != NULL);

    /* The same commits and options: the same bytes. */
    CHECK_OK(report_write(store, log, &options, NULL, &err), &err);
    AUTO(text_freep) char *again = read_output("report.html");
    CHECK_STR(again, page);
    /* A log of a larger job is refused. */
    options.cells = 99;
    CHECK(report_write(store, log, &options, NULL, &err) < 0);
    CHECK_INT(err.kind, ERROR_INVALID);
    commit_free(log);
}

static int name_nothing(void *context UNUSED, int64_t first, int64_t index UNUSED,
                        struct buffer *name UNUSED, struct error *err) {
    return error_set(err, ERROR_INVALID, "the list of item %lld is torn", (long long)first);
}

/* A file that cannot be written does not affect the content of the summary. */
static void the_facts_are_whole_without_the_tables(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_folder("torn");
    write_lives(store);
    struct commit_log *log = open_log(store, "uid-b");
    struct report_options options = options_of("churn");
    options.cells = 100;
    options.item = name_nothing;
    AUTO(facts_freep) struct facts *facts = NULL;
    CHECK(report_write(store, log, &options, &facts, &err) < 0);
    CHECK(strstr(err.text, "the list of item 7 is torn") != NULL); /* the first of them */
    CHECK(facts != NULL);
    CHECK_INT(facts ? facts->batches : 0, 100);
    CHECK_INT(facts ? facts->failed_items : 0, 9);
    CHECK_INT(facts ? facts->failure_count : 0, 3);
    CHECK_INT(facts ? facts->worker_count : 0, 2);
    commit_free(log);
}

/* ---- a large run ---------------------------------------------------------------------------- */

/* The most memory since the last call, in KiB. */
static int64_t peak_kib(void) {
    char line[256];
    int64_t kib = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kib = strtoll(line + 6, NULL, 10);
        }
    }
    if (file) {
        fclose(file);
    }
    file = fopen("/proc/self/clear_refs", "we");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
    return kib;
}

static void add_many(struct commit_log *log, int64_t count) {
    struct error err = {0};
    int64_t through = 0;
    for (int64_t i = 0; i < count && !test_failures; i++) {
        char worker[32];
        snprintf(worker, sizeof worker, "churn-worker-%d", (int)(i % 1000));
        bool is_bad = i % 1000 == 999;
        struct commit_record record = {.type = is_bad ? COMMIT_FAILED : COMMIT_DONE,
                                       .first = i,
                                       .cells = 1,
                                       .items = 10,
                                       .failed = is_bad ? 10 : 0,
                                       .epoch = commit_epoch(log),
                                       .lease = i,
                                       .try = 1,
                                       .worker = worker,
                                       .start_ms = i / 20,
                                       .took_ms = any(100),
                                       .text = is_bad ? "no such shop" : NULL,
                                       .text_size = is_bad ? strlen("no such shop") : 0};
        CHECK_OK(commit_add(log, &record, &err), &err);
        while (commit_is_full(log) && !test_failures) {
            CHECK_OK(commit_poll(log, true, clock_monotonic_ms(), &through, &err), &err);
            poll(NULL, 0, 1);
        }
    }
    store_all(log, count);
}

static void a_large_run_needs_little_memory(void) {
    int64_t count = 1000 * MIN(test_rounds(100), 4000);
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_folder("large");
    struct commit_log *log = open_log(store, "uid-a");
    add_many(log, count);
    commit_free(log);
    log = open_log(store, "uid-a");
    peak_kib();
    int64_t before_kib = peak_kib(), start_ms = clock_monotonic_ms();
    struct report_options options = options_of("churn");
    options.cells = count;
    options.items = 10 * count;
    CHECK_OK(report_write(store, log, &options, NULL, &err), &err);
    int64_t grown_kib = peak_kib() - before_kib;
    printf("# %lld mini-batches: %lld KiB, %lld ms\n", (long long)count, (long long)grown_kib,
           (long long)(clock_monotonic_ms() - start_ms));
    /* Two commits of 8 MiB at a time and jansson's tree of one's head; 4 bytes a cell. Not with a
     * sanitizer, which keeps what was freed. */
#ifndef __SANITIZE_ADDRESS__
    CHECK(grown_kib < 32 * 1024 + 8 * count / 1024);
#endif
    commit_free(log);
}

int main(void) {
    volume =
        x_printf("%s/windlass-report-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(volume)) {
        return 1;
    }
    setenv("reporttest", volume, 1);
    TEST(numbers_are_for_people);
    TEST(a_full_page_says_so);
    TEST(csv_fields_are_quoted_where_they_must);
    TEST(a_run_without_a_mini_batch);
    TEST(hostile_names_stay_text);
    TEST(hostile_numbers_do_no_harm);
    TEST(pages_of_many_kinds);
    TEST(the_whole_over_a_real_log);
    TEST(the_facts_are_whole_without_the_tables);
    TEST(a_large_run_needs_little_memory);
    struct error err = {0};
    CHECK_OK(file_remove_tree(volume, &err), &err);
    free(volume);
    return TEST_END();
}
