// SPDX-License-Identifier: Apache-2.0
/* Failed items, few and many: from a worker through a commit's record into failed.jsonl, and the
 * result when their object is gone. */
#include "agent/score/log/failures.h"

#include "agent/score/coordinator/journal.h"
#include "agent/score/report/report.h"
#include "lib/time/clock.h"
#include "tests/unit/agent/data/tries.h"

#include <poll.h>

/* ---- one try -------------------------------------------------------------------------------- */

struct seen {
    int64_t count, last;
    char first[COMMIT_ITEM_CAUSE_MAX + 1];
    bool is_bad;
};

static int see(void *context, int64_t index, const char *cause, size_t size,
               struct error *err UNUSED) {
    struct seen *seen = context;
    char wanted[64];
    int length = snprintf(wanted, sizeof wanted, "row \"%lld\"\n", (long long)index);
    if (seen->count++ == 0) {
        snprintf(seen->first, sizeof seen->first, "%.*s", (int)size, cause);
    } else if (size != (size_t)length || memcmp(cause, wanted, size) != 0) {
        seen->is_bad = true;
    }
    seen->is_bad = seen->is_bad || index <= seen->last;
    seen->last = index;
    return 0;
}

/* Every second item of 2 * count has failed; returns the record about it. The list is the
 * caller's. */
static struct commit_record fail(struct store *output, int64_t lease, int64_t count) {
    struct error err = {0};
    AUTO(failures_release) struct failures failures;
    failures_init(&failures, output, RUN, 1, lease);
    for (int64_t i = 0; i < count && !test_failures; i++) {
        char cause[64];
        snprintf(cause, sizeof cause, "row \"%lld\"\n", (long long)(2 * i));
        CHECK_OK(failures_add(&failures, 2 * i, cause, &err), &err);
    }
    CHECK_OK(failures_close(&failures, &err), &err);
    struct part part = failures_part(&failures);
    return (struct commit_record){.type = COMMIT_PARTIAL,
                                  .first = lease,
                                  .cells = 1,
                                  .items = 2 * count,
                                  .failed = count,
                                  .epoch = 1,
                                  .lease = lease,
                                  .try = 2,
                                  .worker = "w-0",
                                  .failures = TAKE(failures.list),
                                  .failures_bytes = part.size_bytes,
                                  .failures_crc = part.crc};
}

static long objects_in(const char *output) {
    return ask_number("find '%s/%s/.windlass/" RUN "/try' -name '*.failed' 2>/dev/null | wc -l",
                      fixtures_out, output);
}

static void test_few_go_with_the_result_and_many_are_an_object(void) {
    static const int64_t counts[] = {1, 1000, 2500, 4000, 300000};
    AUTO(store_freep) struct store *output = open_output("out/tries");
    long objects = 0;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct error err = {0};
        struct seen seen = {.last = -1};
        bool is_broken = true, is_many = counts[i] > 3000;
        struct commit_record record = fail(output, (int64_t)i, counts[i]);
        objects += is_many;
        CHECK_INT(record.failures_bytes > 0, is_many);
        CHECK_INT(json_array_size(record.failures), is_many ? 1 : counts[i]);
        CHECK_INT(objects_in("tries"), objects);
        CHECK_OK(failures_check(output, RUN, &record, &is_broken, &err), &err);
        CHECK(!is_broken);
        CHECK_OK(failures_read(output, RUN, &record, see, &seen, &err), &err);
        CHECK_INT(seen.count, counts[i]);
        CHECK_STR(seen.first, "row \"0\"\n");
        CHECK(!seen.is_bad);
        json_decref((json_t *)record.failures);
    }
}

/* Cut between characters, and at invalid bytes. */
static void test_causes_are_cut(void) {
    struct error err = {0};
    char long_cause[400], split[400];
    memset(long_cause, 'x', sizeof long_cause - 1);
    long_cause[sizeof long_cause - 1] = 0;
    memcpy(split, long_cause, sizeof split);
    memcpy(split + COMMIT_ITEM_CAUSE_MAX - 1, "\xC3\xA4", 2);
    AUTO(store_freep) struct store *output = open_output("out/cut");
    AUTO(failures_release) struct failures failures;
    failures_init(&failures, output, RUN, 1, 1);
    CHECK_OK(failures_add(&failures, 0, long_cause, &err), &err);
    CHECK_OK(failures_add(&failures, 1, split, &err), &err);
    CHECK_OK(failures_add(&failures, 2, "one\xFFtwo", &err), &err);
    CHECK_OK(failures_add(&failures, 3, "", &err), &err);
    CHECK_OK(failures_close(&failures, &err), &err);
    static const size_t sizes[] = {COMMIT_ITEM_CAUSE_MAX, COMMIT_ITEM_CAUSE_MAX - 1, 3, 0};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const json_t *pair = json_array_get(failures.list, i);
        CHECK_INT(json_integer_value(json_array_get(pair, 0)), i);
        CHECK_INT(json_string_length(json_array_get(pair, 1)), sizes[i]);
    }
}

/* The most memory since the last call, in KiB. */
static long peak_kib(void) {
    long pid = (long)getpid();
    return ask_number("sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/%ld/status; "
                      "echo 5 >/proc/%ld/clear_refs",
                      pid, pid);
}

static void test_half_a_million_need_little_memory(void) {
    struct error err = {0};
    struct seen seen = {.last = -1};
    AUTO(store_freep) struct store *output = open_output("out/memory");
    peak_kib();
    long before_kib = peak_kib();
    struct commit_record record = fail(output, 1, 500000);
    CHECK_OK(failures_read(output, RUN, &record, see, &seen, &err), &err);
    CHECK_INT(seen.count, 500000);
    long grown_kib = peak_kib() - before_kib;
    printf("# 500000 failed items: %ld KiB\n", grown_kib);
#ifndef __SANITIZE_ADDRESS__
    CHECK(grown_kib < 24 << 10); /* twice the 8 MiB that wait for their object, as it grows */
#endif
    json_decref((json_t *)record.failures);
}

/* ---- in a commit ---------------------------------------------------------------------------- */

static int keep_text(void *context, const struct commit_head *head UNUSED,
                     const struct commit_record *record, struct error *err UNUSED) {
    *(struct commit_record *)context = *record;
    ((struct commit_record *)context)->failures = json_incref((json_t *)record->failures);
    return 0;
}

static const struct commit_head made_head = {
    .run = RUN, .uid = "u", .job = "j", .nonce = "n", .number = 1, .epoch = 1, .void_from = -1};

static int read_commit(const char *text, size_t size, struct commit_record *ret_record,
                       struct error *err) {
    struct commit_object object = {.text = {.data = (char *)text, .size = size}};
    int result = commit_read_head(text, size, &object.head, &object.tree, err);
    if (result == 0) {
        result = commit_read_records(&object, /* is_brief= */ false, keep_text, ret_record, err);
    }
    json_decref(object.tree);
    return result;
}

static void test_records_say_what_they_said(void) {
    for (int i = 0; i < 6; i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *failures = json_pack("[[is]]", 3, "no such shop");
        bool has_list = i % 3 > 0, has_object = i % 3 == 2, is_failed = i >= 3;
        struct commit_record record = {.type = is_failed ? COMMIT_FAILED : COMMIT_PARTIAL,
                                       .first = 7,
                                       .cells = 1,
                                       .items = 9,
                                       .failed = is_failed ? 9 : 8,
                                       .try = 1,
                                       .worker = "w",
                                       .text = is_failed ? "no such shop" : NULL,
                                       .text_size = is_failed ? strlen("no such shop") : 0,
                                       .failures = has_list ? failures : NULL,
                                       .failures_bytes = has_object ? 70000 : 0,
                                       .failures_crc = has_object ? 0x1c291ca3 : 0,
                                       .fault = is_failed && i % 2 ? COMMIT_LOST : COMMIT_ERROR};
        struct commit_record again = {0};
        AUTO(commit_writer_release) struct commit_writer writer;
        commit_writer_init(&writer);
        CHECK_INT(commit_writer_add(&writer, &record, &err), 1);
        size_t size = 0;
        AUTO(text_freep) char *text = commit_writer_text(&writer, &made_head, &size);
        CHECK(commit_is_whole(text, size));
        CHECK_OK(read_commit(text, size, &again, &err), &err);
        CHECK_INT(again.type, record.type);
        CHECK_INT(json_array_size(again.failures), has_list);
        CHECK_INT(again.failures != NULL, has_list || !is_failed);
        CHECK_INT(again.failures_bytes, record.failures_bytes);
        CHECK_INT(again.failures_crc, record.failures_crc);
        CHECK_INT(again.fault, record.fault);
        json_decref((json_t *)again.failures);
    }
}

static void test_records_that_are_none(void) {
    static const struct {
        const char *line;
        bool is_good;
    } rows[] = {
        {"[\"p\",98,1,8,1,9,3,0,2991,90,\"n\",[[3,\"x\"]]]", true},
        {"[\"p\",98,1,8,1,9,3,0,2991,90,\"n\",[[3,\"x\"]],70000,\"1c291ca3\"]", true},
        {"[\"p\",98,1,8,1,9,3,0,2991,90,\"n\",[[3,\"x\"]],0,\"1c291ca3\"]", false},
        {"[\"p\",98,1,8,1,9,3,0,2991,90,\"n\",[[3,\"x\"]],-1,\"1c291ca3\"]", false},
        {"[\"p\",98,1,8,1,9,3,0,2991,90,\"n\",[[3,\"x\"]],70000]", false},
        {"[\"p\",98,1,8,1,9,3,0,2991,90,\"n\",[[3,\"x\"]],70000,\"1C291CA3\"]", false},
        {"[\"p\",98,1,8,1,9,3,0,2991,90,\"n\",[[3,\"x\"]],70000,\"1c291ca3\",1]", false},
        {"[\"p\",98,1,8,1,9,3,0,2991,90,\"n\",70000,\"1c291ca3\"]", false},
        {"[\"f\",99,1,8,8,12,3,0,3100,60000,\"x\"]", true},
        {"[\"f\",99,1,8,8,12,3,0,3100,60000,\"x\",[[0,\"x\"],[1,\"y\"]]]", true},
        {"[\"f\",99,1,8,8,12,3,0,3100,60000,\"x\",[[0,\"x\"]],70000,\"1c291ca3\"]", true},
        {"[\"f\",99,1,8,8,12,3,0,3100,60000,\"x\",[[0,\"x\"]],70000,\"1c291ca3\",\"lost\"]", true},
        {"[\"f\",99,1,8,8,12,3,0,3100,60000,\"x\",[[0,\"x\"]],\"timeout\"]", true},
        {"[\"f\",99,1,8,8,12,3,0,3100,60000,\"x\",\"lost\",[[0,\"x\"]]]", false},
        {"[\"f\",99,1,8,8,12,3,0,3100,60000,\"x\",[[0,5]]]", false},
        {"[\"f\",99,1,8,8,12,3,0,3100,60000,\"x\",7]", false},
        {"[\"d\",96,1,8,0,7,1,0,2210,812,\"n\",[[3,\"x\"]]]", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct commit_record record = {0};
        AUTO(text_freep)
        char *text = x_printf("{\"windlass\":2,\"run\":\"" RUN "\",\"number\":1,\"epoch\":1,"
                              "\"nonce\":\"n\",\"uid\":\"u\",\"job\":\"j\",\"workers\":[\"w\"]}\n"
                              "%s\n{\"end\":1,\"crc\":\"00000000\"}\n",
                              rows[i].line);
        int result = read_commit(text, strlen(text), &record, &err);
        if ((result == 0) != rows[i].is_good) {
            printf("# %s\n", rows[i].line);
            test_failures++;
        }
        json_decref((json_t *)record.failures);
    }
}

/* ---- in a run ------------------------------------------------------------------------------- */

static struct job job = {.name = "j", .uid = "uid-1", .run = RUN};

static void open_journal(struct store *output, struct journal *journal) {
    struct error err = {0};
    struct journal_options options = {
        .job = &job,
        .output = output,
        .cells = 3,
        .items = -1,
        .ledger = {.max_tries = 1,
                   .timeout_ms = 60000,
                   .errors_max = -1,
                   .cell_errors_max = -1,
                   .cell_errors_percent = -1},
    };
    CHECK_OK(journal_open(&options, journal, &err), &err);
}

static void ignore(void *context, const struct journal_entry *entry) {
    (void)context, (void)entry;
}

static void store_all(struct journal *journal) {
    struct error err = {0};
    for (int i = 0; i < 60000 && !journal_is_stored(journal); i++) {
        CHECK_OK(journal_turn(journal, true, ignore, NULL, &err), &err);
        poll(NULL, 0, 1);
    }
    CHECK(journal_is_stored(journal));
}

enum { MANY = 5000, BAD = 0, MIXED = 1, GOOD = 2 };

/* One lease: of cell BAD all items fail, of MIXED every second one, of GOOD none. */
static void score(struct journal *journal, struct store *output, int worker) {
    struct error err = {0};
    struct ledger_lease lease, ended;
    if (!ledger_next_lease(journal->ledger, clock_monotonic_ms(), &lease)) {
        CHECK(!"a lease");
        return;
    }
    AUTO(failures_release) struct failures failures;
    failures_init(&failures, output, RUN, journal->epoch, lease.lease);
    int64_t failed = 0;
    for (int64_t i = 0; i < MANY && lease.first != GOOD; i++) {
        char cause[64];
        snprintf(cause, sizeof cause, "no such shop: %lld", (long long)i);
        if (lease.first == BAD || i % 2 == 1) {
            CHECK_OK(failures_add(&failures, i, cause, &err), &err);
            failed++;
        }
    }
    CHECK_OK(failures_close(&failures, &err), &err);
    struct part part = failures_part(&failures);
    struct message_result result = {.lease = lease.lease,
                                    .items = MANY,
                                    .failed = failed,
                                    .place = MESSAGE_NOWHERE,
                                    .failures = failures.list,
                                    .failures_bytes = part.size_bytes,
                                    .failures_crc = part.crc};
    struct ledger_report said = {.worker = worker,
                                 .lease = lease.lease,
                                 .items = MANY,
                                 .failed = failed,
                                 .took_us = 1000,
                                 .cause = failed ? "no such shop" : NULL};
    enum ledger_decision decision =
        ledger_take_report(journal->ledger, &said, clock_monotonic_ms(), &ended);
    CHECK_INT(decision, lease.first == BAD     ? LEDGER_FAILED
                        : lease.first == MIXED ? LEDGER_PARTIAL
                                               : LEDGER_DONE);
    const struct journal_failure failure = {.fault = COMMIT_ERROR, .cause = "no such shop"};
    CHECK_OK(journal_accept(journal, decision, &ended, &result, &failure, &err), &err);
}

static void score_all(struct journal *journal, struct store *output) {
    struct error err = {0};
    int worker = -1;
    CHECK_OK(ledger_join(journal->ledger, "w-0", 1, &worker, &err), &err);
    while (!ledger_is_accounted(journal->ledger) && !test_failures) {
        score(journal, output, worker);
    }
    store_all(journal);
}

static int write_report(struct journal *journal, struct store *output, struct error *err) {
    struct report_options options = {.job = "j",
                                     .run = RUN,
                                     .uid = job.uid,
                                     .state = "Succeeded",
                                     .message = "",
                                     .unit = "rows",
                                     .cells = 3,
                                     .items = 3 * MANY,
                                     .slots = 1};
    return report_write(output, journal->log, &options, NULL, err);
}

/* failed.jsonl: each failed item of the run once, with its own cause. */
static void check_listed(const char *folder, int64_t bad, int64_t mixed) {
    struct error err = {0};
    char *text = NULL;
    size_t size = 0;
    int64_t seen[3] = {0}, last[3] = {-1, -1, -1};
    AUTO(text_freep) char *path = x_printf("%s/%s/failed.jsonl", fixtures_out, folder);
    CHECK_OK(file_read(path, 8 << 20, &text, &size, &err), &err);
    char *line, *rest = text;
    while (text && (line = strsep(&rest, "\n")) && *line && !test_failures) {
        char cause[64];
        AUTO(tree_freep) json_t *tree = NULL;
        CHECK_OK(tree_parse(line, strlen(line), 10000, &tree, &err), &err);
        int64_t cell = tree_integer(tree, "miniBatch", -1), index = tree_integer(tree, "index", -1);
        CHECK(cell == BAD || cell == MIXED);
        if (cell != BAD && cell != MIXED) {
            break;
        }
        snprintf(cause, sizeof cause, "no such shop: %lld", (long long)index);
        CHECK_STR(tree_text(tree, "cause", ""), cause);
        CHECK(index > last[cell]);
        last[cell] = index;
        seen[cell]++;
    }
    CHECK_INT(seen[BAD], bad);
    CHECK_INT(seen[MIXED], mixed);
    free(text);
}

static void check_page(const char *folder) {
    /* Its causes count items, all in one line without their numbers. */
    CHECK(ask_number("grep -c '7,500' '%s/%s/report.html'", fixtures_out, folder) > 0);
    CHECK_INT(ask_number("grep -c '^[01],1,5000,.*no such shop' '%s/%s/mini_batches.csv'",
                         fixtures_out, folder),
              2);
}

static void test_each_is_listed_also_by_the_next_coordinator(void) {
    struct error err = {0};
    struct journal journal;
    AUTO(store_freep) struct store *output = open_output("out/listed");
    open_journal(output, &journal);
    score_all(&journal, output);
    CHECK_INT(objects_in("listed"), 2);
    CHECK_OK(journal_check_failures(&journal, &err), &err);
    CHECK_OK(write_report(&journal, output, &err), &err);
    check_listed("listed", MANY, MANY / 2);
    check_page("listed");
    journal_release(&journal);
    CHECK_OK(store_remove(output, "failed.jsonl", &err), &err);
    open_journal(output, &journal);
    CHECK(ledger_is_committed(journal.ledger));
    CHECK_OK(journal_check_failures(&journal, &err), &err);
    CHECK_OK(write_report(&journal, output, &err), &err);
    check_listed("listed", MANY, MANY / 2);
    journal_release(&journal);
}

/* The objects may be gone with the tries of a job that has ended. */
static void test_what_another_job_gave_up_is_not_listed(void) {
    struct error err = {0};
    struct journal journal;
    AUTO(store_freep) struct store *output = open_output("out/other");
    open_journal(output, &journal);
    score_all(&journal, output);
    journal_release(&journal);
    CHECK_OK(store_clear(output, ".windlass/" RUN "/try/", &err), &err);
    job.uid = "uid-2";
    open_journal(output, &journal);
    CHECK(!ledger_is_accounted(journal.ledger));
    CHECK_OK(journal_check_failures(&journal, &err), &err);
    CHECK_OK(write_report(&journal, output, &err), &err);
    check_listed("other", 0, 0);
    score_all(&journal, output);
    CHECK_OK(journal_check_failures(&journal, &err), &err);
    CHECK_OK(write_report(&journal, output, &err), &err);
    check_listed("other", MANY, MANY / 2);
    journal_release(&journal);
    job.uid = "uid-1";
}

static void test_what_is_broken_is_made_again(void) {
    static const char *const hurts[] = {"rm", "truncate -s -1", "sed -i s/shop/ship/"};
    for (size_t i = 0; i < ARRAY_LEN(hurts); i++) {
        struct error err = {0};
        struct journal journal;
        int64_t broken = 0;
        AUTO(text_freep) char *folder = x_printf("broken%zu", i);
        AUTO(text_freep) char *path = x_printf("out/%s", folder);
        AUTO(store_freep) struct store *output = open_output(path);
        open_journal(output, &journal);
        score_all(&journal, output);
        CHECK_INT(ask_number("%s '%s/%s/.windlass/" RUN "/try/0-'%d.failed && echo 0", hurts[i],
                             fixtures_out, folder, MIXED),
                  0);
        /* Known items are listed, and the list says that it is incomplete. */
        CHECK_INT(write_report(&journal, output, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        check_listed(folder, MANY, 1);
        error_clear(&err);
        CHECK_INT(journal_check_failures(&journal, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        error_clear(&err);
        CHECK_OK(journal_void_broken(&journal, NULL, &broken, &err), &err);
        CHECK_INT(broken, 1);
        CHECK(!ledger_is_accounted(journal.ledger));
        store_all(&journal);
        journal_release(&journal);
        open_journal(output, &journal);
        score_all(&journal, output);
        CHECK_OK(journal_check_failures(&journal, &err), &err);
        CHECK_OK(write_report(&journal, output, &err), &err);
        check_listed(folder, MANY, MANY / 2);
        journal_release(&journal);
    }
}

int main(void) {
    fixtures_start("failures");
    TEST(test_few_go_with_the_result_and_many_are_an_object);
    TEST(test_causes_are_cut);
    TEST(test_half_a_million_need_little_memory);
    TEST(test_records_say_what_they_said);
    TEST(test_records_that_are_none);
    TEST(test_each_is_listed_also_by_the_next_coordinator);
    TEST(test_what_another_job_gave_up_is_not_listed);
    TEST(test_what_is_broken_is_made_again);
    return TEST_END();
}
