// SPDX-License-Identifier: Apache-2.0
/* Rows in the order of the input, in any order of their commits. */
#include "agent/score/coordinator/assemble.h"

#include "agent/data/parts/pack.h"
#include "agent/result/output_lines.h"
#include "lib/digest.h"
#include "lib/time/clock.h"
#include "tests/unit/agent/data/tries.h"

#include <poll.h>

enum { CELLS = 400, LONG_BYTES = 9000 };

static struct job job = {.name = "j", .uid = "uid-1", .run = RUN};
static int64_t added;        /* records of this journal */
static int64_t of_cells = 1; /* of the next record */

static void open_journal(struct store *output, struct journal *journal) {
    struct error err = {0};
    struct journal_options options = {
        .job = &job,
        .output = output,
        .cells = CELLS,
        .items = 2 * CELLS,
        .ledger = {.cell_items = 2,
                   .max_tries = 1,
                   .timeout_ms = 60000,
                   .errors_max = -1,
                   .cell_errors_max = -1,
                   .cell_errors_percent = -1},
    };
    added = 0;
    CHECK_OK(journal_open(&options, journal, &err), &err);
}

/* All added records are now in a separate object. */
static void store_all(struct journal *journal) {
    struct error err = {0};
    int64_t through = -1;
    for (int i = 0; i < 60000 && through < added; i++) {
        CHECK(commit_poll(journal->log, true, clock_monotonic_ms(), &through, &err) >= 0);
        poll(NULL, 0, 1);
    }
    CHECK_INT(through, added);
}

/* "17 TEXT\n", every third cell with 9,000 bytes more. */
static char *row_of(int64_t cell, const char *text) {
    size_t more = cell % 3 == 0 ? LONG_BYTES : 0;
    char *row = x_printf("%lld %s", (long long)cell, text);
    size_t size = strlen(row);
    row = x_realloc(row, size + more + 2);
    memset(row + size, 'x', more);
    memcpy(row + size + more, "\n", 2);
    return row;
}

static void add(struct journal *journal, struct store *output, enum commit_record_type decision,
                int64_t cell, const char *text) {
    struct error err = {0};
    char name[PART_NAME_MAX];
    AUTO(text_freep) char *row = row_of(cell, text);
    part_name(job.run, journal->epoch, added, name);
    AUTO(staged_output_freep) struct staged_output *staged = staged_output_new(output, name, true);
    AUTO(tree_freep) json_t *failures = json_pack("[[i,s]]", 0, "bad");
    CHECK_OK(staged_output_add(staged, row, strlen(row), &err), &err);
    CHECK_OK(staged_output_close(staged, &err), &err);
    struct part part = staged_output_part(staged);
    struct commit_record record = {.type = decision,
                                   .first = cell,
                                   .cells = of_cells,
                                   .items = 2 * of_cells,
                                   .lease = added++,
                                   .try = 1,
                                   .worker = "w-0"};
    if (decision == COMMIT_PARTIAL) {
        record.failed = 1;
        record.failures = failures;
    }
    if (decision == COMMIT_FAILED || decision == COMMIT_VOID) {
        record.failed = decision == COMMIT_FAILED ? 2 : 0;
        record.text = "bad";
        record.text_size = 3;
    } else if (staged_output_find_place(staged) == STAGED_TEXT) {
        record.place = COMMIT_TEXT;
        record.text = part.bytes;
        record.text_size = (size_t)part.size_bytes;
    } else {
        record.place = COMMIT_OBJECT;
        record.size_bytes = part.size_bytes;
        record.crc = part.crc;
    }
    CHECK_OK(commit_add(journal->log, &record, &err), &err);
}

static void check_rows(struct store *output, const char *const texts[CELLS]) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer seen;
    buffer_init(&seen, 64 << 20);
    CHECK_OK(store_get(output, "rows.txt", &seen, NULL, &err), &err);
    size_t at = 0;
    for (int64_t cell = 0; cell < CELLS; cell++) {
        AUTO(text_freep) char *row = texts[cell] ? row_of(cell, texts[cell]) : x_strdup("");
        size_t size = strlen(row);
        if (at + size > seen.size || memcmp(seen.data + at, row, size) != 0) {
            printf("# cell %lld is not \"%.40s\"\n", (long long)cell, row);
            test_failures++;
            return;
        }
        at += size;
    }
    CHECK_INT(at, seen.size);
}

static void shuffle(int64_t cells[CELLS], unsigned seed) {
    for (int i = 0; i < CELLS; i++) {
        cells[i] = i;
    }
    for (int i = CELLS - 1; i > 0; i--) {
        seed = seed * 1103515245u + 12345u;
        int64_t other = (seed >> 8) % (unsigned)(i + 1), kept = cells[i];
        cells[i] = cells[other];
        cells[other] = kept;
    }
}

static void test_rows_come_in_the_inputs_order(void) {
    struct error err = {0};
    struct journal journal;
    int64_t order[CELLS];
    const char *texts[CELLS];
    AUTO(store_freep) struct store *output = open_output("out/order");
    shuffle(order, 7);
    open_journal(output, &journal);
    for (int i = 0; i < CELLS; i++) {
        enum commit_record_type decision = order[i] % 10 == 1   ? COMMIT_PARTIAL
                                           : order[i] % 10 == 2 ? COMMIT_FAILED
                                                                : COMMIT_DONE;
        add(&journal, output, decision, order[i], "a");
        texts[order[i]] = decision == COMMIT_FAILED ? NULL : "a";
        if (i % 20 == 19) {
            store_all(&journal);
        }
    }
    CHECK_OK(assemble_rows(&journal, "rows.txt", NULL, &err), &err);
    check_rows(output, texts);
    /* A second result changes nothing, a PARTIAL yields, a void result is gone. */
    add(&journal, output, COMMIT_DONE, 0, "b");
    add(&journal, output, COMMIT_DONE, 1, "b");
    add(&journal, output, COMMIT_VOID, 3, "");
    add(&journal, output, COMMIT_VOID, 4, "");
    add(&journal, output, COMMIT_DONE, 4, "b");
    store_all(&journal);
    texts[1] = texts[4] = "b";
    texts[3] = NULL;
    CHECK_OK(assemble_rows(&journal, "rows.txt", NULL, &err), &err);
    check_rows(output, texts);
    journal_release(&journal);
    /* The same commits give the same bytes, whichever coordinator assembles them. */
    open_journal(output, &journal);
    CHECK_OK(assemble_rows(&journal, "rows.txt", NULL, &err), &err);
    check_rows(output, texts);
    journal_release(&journal);
    /* A job that is run anew ignores what another job gave up. */
    job.uid = "uid-2";
    for (int i = 0; i < CELLS; i++) {
        texts[i] = i % 10 == 1 && i > 1 ? NULL : texts[i];
    }
    open_journal(output, &journal);
    CHECK_OK(assemble_rows(&journal, "rows.txt", NULL, &err), &err);
    check_rows(output, texts);
    journal_release(&journal);
    job.uid = "uid-1";
}

/* A record's bytes are those of all its cells: they cannot be cut. */
static void test_ranges_are_whole_or_refused(void) {
    struct error err = {0};
    struct journal journal;
    const char *texts[CELLS] = {NULL};
    AUTO(store_freep) struct store *output = open_output("out/ranges");
    open_journal(output, &journal);
    of_cells = 4;
    add(&journal, output, COMMIT_PARTIAL, 14, "a");
    add(&journal, output, COMMIT_DONE, 10, "a");
    add(&journal, output, COMMIT_DONE, 14, "b");
    store_all(&journal);
    texts[10] = "a";
    texts[14] = "b";
    CHECK_OK(assemble_rows(&journal, "rows.txt", NULL, &err), &err);
    check_rows(output, texts);
    add(&journal, output, COMMIT_PARTIAL, CELLS - 4, "a");
    of_cells = 1;
    add(&journal, output, COMMIT_DONE, CELLS - 3, "b");
    store_all(&journal);
    CHECK_INT(assemble_rows(&journal, "rows.txt", NULL, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "from 396 on were scored again in other ranges"));
    check_rows(output, texts); /* the file from before */
    journal_release(&journal);
}

static void test_what_is_gone_is_told(void) {
    struct error err = {0};
    struct journal journal;
    AUTO(store_freep) struct store *output = open_output("out/gone");
    open_journal(output, &journal);
    for (int64_t cell = 0; cell < CELLS; cell++) {
        add(&journal, output, COMMIT_DONE, cell, "a");
    }
    store_all(&journal);
    CHECK_OK(store_clear(output, ".windlass/" RUN "/try/", &err), &err);
    CHECK_INT(assemble_rows(&journal, "rows.txt", NULL, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_INT(journal.broken_count, (CELLS + 2) / 3);
    error_clear(&err);
    struct buffer seen;
    buffer_init(&seen, 64);
    CHECK_INT(store_get(output, "rows.txt", &seen, NULL, &err), -1); /* no partial file */
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
    buffer_release(&seen);
    journal_release(&journal);
}

/* ---- the list of files ---- */

/* A pack with the file CELL.json; every third is too large for a message. */
static void add_pack(struct journal *journal, struct store *output, int64_t cell) {
    struct error err = {0};
    char name[PART_NAME_MAX];
    AUTO(text_freep) char *file = x_printf("%03lld.json", (long long)cell);
    AUTO(text_freep) char *text = row_of(cell, "a");
    part_name(job.run, journal->epoch, added, name);
    AUTO(staged_output_freep) struct staged_output *staged = staged_output_new(output, name, true);
    struct pack *pack = pack_new(staged);
    CHECK_OK(pack_add(pack, file, text, strlen(text), &err), &err);
    CHECK_OK(pack_close(pack, &err), &err);
    pack_free(pack);
    CHECK_OK(staged_output_close(staged, &err), &err);
    struct part part = staged_output_part(staged);
    bool is_text = staged_output_find_place(staged) == STAGED_TEXT;
    CHECK_INT(is_text, cell % 3 != 0);
    struct commit_record record = {.type = COMMIT_DONE,
                                   .first = cell,
                                   .cells = 1,
                                   .items = 2,
                                   .lease = added++,
                                   .try = 1,
                                   .worker = "w-0",
                                   .place = is_text ? COMMIT_TEXT : COMMIT_OBJECT,
                                   .size_bytes = part.size_bytes,
                                   .crc = part.crc};
    if (is_text) {
        record.text = part.bytes;
        record.text_size = (size_t)part.size_bytes;
    }
    CHECK_OK(commit_add(journal->log, &record, &err), &err);
}

static int check_line(void *context, const struct output_line *line, struct error *err UNUSED) {
    int64_t *cell = context;
    AUTO(text_freep) char *name = x_printf("%03lld.json", (long long)*cell);
    AUTO(text_freep) char *text = row_of(*cell, "a");
    char hex[65];
    digest_sha256(text, strlen(text), hex);
    CHECK_STR(line->name, name);
    CHECK_INT(line->size_bytes, strlen(text));
    CHECK_STR(line->sha256, hex);
    ++*cell;
    return 0;
}

static void test_files_are_listed_in_the_inputs_order(void) {
    struct error err = {0};
    struct journal journal;
    int64_t order[CELLS], cell = 0;
    AUTO(store_freep) struct store *output = open_output("out/files");
    AUTO(tree_freep) json_t *list = NULL;
    struct output_lines_sum sum;
    shuffle(order, 11);
    open_journal(output, &journal);
    for (int i = 0; i < CELLS; i++) {
        add_pack(&journal, output, order[i]);
    }
    store_all(&journal);
    CHECK_OK(assemble_file_list(&journal, "outputs.jsonl", &list, &err), &err);
    CHECK_OK(output_lines_read(output, OUTPUT_LINES_NAME, check_line, &cell, &sum, &err), &err);
    CHECK_INT(cell, CELLS);
    CHECK_INT(tree_integer(list, "files", 0), CELLS);
    CHECK_INT(tree_integer(list, "fileBytes", 0), sum.files_bytes);
    CHECK_STR(tree_text(list, "sha256", ""), sum.hash.sha256);
    /* A list that cannot be complete is not written; the packs that are gone are named. */
    CHECK_OK(store_remove(output, OUTPUT_LINES_NAME, &err), &err);
    CHECK_OK(store_clear(output, ".windlass/" RUN "/try/", &err), &err);
    tree_freep(&list);
    CHECK_INT(assemble_file_list(&journal, "outputs.jsonl", &list, &err), -1);
    CHECK_INT(journal.broken_count, (CELLS + 2) / 3);
    struct store_info info;
    error_clear(&err);
    CHECK_INT(store_stat(output, OUTPUT_LINES_NAME, &info, &err), -1);
    journal_release(&journal);
}

int main(void) {
    fixtures_start("assemble");
    TEST(test_rows_come_in_the_inputs_order);
    TEST(test_ranges_are_whole_or_refused);
    TEST(test_what_is_gone_is_told);
    TEST(test_files_are_listed_in_the_inputs_order);
    return TEST_END();
}
