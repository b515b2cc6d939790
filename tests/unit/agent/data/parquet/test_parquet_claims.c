// SPDX-License-Identifier: Apache-2.0
/* Footers that claim what is not in the file: row groups whose bytes overlap, leave gaps or are
 * outside, numbers of rows and values that disagree with each other and with the pages. What is
 * refused is named by group and column; no row is lost silently, and none is made up. */
#include "agent/data/parquet/parquet_claims.h"
#include "agent/data/table/table_parquet.h"
#include "tests/unit/agent/data/parquet/made_parquet.h"

enum { WINDOW = 4096, BLOCK = 64 << 10 };

static int open_made(struct parquet_bytes *bytes, struct table_parquet **ret_parquet,
                     struct error *err) {
    const struct table_parquet_options options = {.source = parquet_bytes_source(bytes),
                                                  .wants_all = true};
    return table_parquet_new(&options, ret_parquet, err);
}

/* ---- what the footer claims ---------------------------------------------------------- */

static void test_claims_that_cannot_be_true(void) {
    static const struct {
        struct made_group groups[2];
        const char *why;
    } cases[] = {
        {{{.pages = {9}}, {.pages = {9}, .start = 4}},
         "row group 1: column \"x\": its bytes overlap another column's"},
        {{{.pages = {9}, .start = 20}, {.pages = {9}, .start = 4, .size = 17}},
         "row group 1: column \"x\": its bytes overlap another column's"},
        {{{.pages = {9}}, {.pages = {9}, .start = 1000}},
         "row group 1: column \"x\": its bytes are outside the file"},
        {{{.pages = {9}}, {.pages = {9}, .start = INT64_MAX}}, "are outside the file"},
        {{{.pages = {9}}, {.pages = {9}, .start = -1}}, "are outside the file"},
        {{{.pages = {9}}, {.pages = {9}, .start = 2}}, "are outside the file"},
        {{{.pages = {9}}, {.pages = {9}, .size = INT64_MAX}}, "are outside the file"},
        {{{.pages = {9}}, {.pages = {9}, .size = -5}}, "are outside the file"},
        /* its footer, read as values */
        {{{.pages = {9}}, {.pages = {9}, .size = 80}}, "are outside the file"},
        {{{.pages = {9}}, {.rows = 9}}, "column \"x\": it has no bytes for its rows"},
        {{{.pages = {9}, .values = 8}, {.pages = {9}}},
         "row group 0: column \"x\": it does not have as many values as its row group has rows"},
        {{{.pages = {9}, .values = INT64_MAX}, {.pages = {9}}}, "as many values as"},
        {{{.pages = {9}, .rows = 8, .values = 9}, {.pages = {9}}}, "as many values as"},
        {{{.pages = {9}, .rows = -9}, {.pages = {9}}}, "a row group without columns or rows"},
        {{{.pages = {9}, .rows = INT64_MAX / 2}, {.pages = {9}}}, "too many rows"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct made_group groups[2] = {cases[i].groups[0], cases[i].groups[1]};
        struct parquet_bytes bytes = made_parquet(groups, 2);
        struct table_parquet *parquet = NULL;
        struct error err = {0};
        CHECK_INT(open_made(&bytes, &parquet, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, cases[i].why) || !printf("# %zu: %s\n", i, err.text));
        table_parquet_free(parquet);
        free(bytes.data);
    }
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Reads the rows [first, the end); those without fault must be 0, 1, 2, ... The number of faults.
 */
static int count_faults(struct parquet_bytes *bytes, int64_t first, int64_t *ret_rows,
                        char *ret_fault, size_t room) {
    AUTO(buffer_release) struct buffer json;
    struct table_parquet *parquet = NULL;
    struct error err = {0};
    const char *fault = NULL;
    int faults = 0;
    buffer_init(&json, 1 << 20);
    CHECK_OK(open_made(bytes, &parquet, &err), &err);
    struct row_reader *reader = table_parquet_reader(parquet);
    row_reader_start(reader, first, table_parquet_rows(parquet));
    for (*ret_rows = 0; row_reader_next(reader, &json, &fault, &err) > 0; ++*ret_rows) {
        AUTO(text_freep) char *wanted = x_printf("{\"x\":%lld}", (long long)(first + *ret_rows));
        CHECK(fault || strcmp(json.data, wanted) == 0);
        if (fault && faults++ == 0) {
            snprintf(ret_fault, room, "%s", fault);
        }
        buffer_clear(&json);
    }
    CHECK_INT(err.kind, ERROR_NONE);
    table_parquet_free(parquet);
    return faults;
}

static void test_gaps_are_allowed(void) {
    struct made_group groups[] = {
        {.pages = {9}, .gap = 7}, {.pages = {5, 6}, .gap = 300}, {.pages = {1}}};
    struct parquet_bytes bytes = made_parquet(groups, ARRAY_LEN(groups));
    int64_t rows = 0;
    CHECK_INT(count_faults(&bytes, 0, &rows, NULL, 0), 0);
    CHECK_INT(rows, 21);
    CHECK_INT(count_faults(&bytes, 15, &rows, NULL, 0), 0);
    CHECK_INT(rows, 6);
    free(bytes.data);
}

/* Rows beyond those of the group end a window whose other rows are right: it fails. */
static void test_pages_of_other_rows_have_faults(void) {
    static const struct {
        struct made_group group;
        int64_t first;
        int rows, faults;
        const char *why;
    } cases[] = {
        {{.pages = {9, 9}, .rows = 9}, 0, 9, 9, "more rows than its row group"},
        {{.pages = {9, 9}, .rows = 9}, 8, 1, 1, "more rows than its row group"},
        {{.pages = {9, 9}, .rows = 10}, 0, 10, 1, "more rows than its row group"},
        {{.pages = {WINDOW, 1}, .rows = WINDOW}, WINDOW - 2, 2, 2, "more rows than its row group"},
        {{.pages = {WINDOW + 5, 9}, .rows = WINDOW}, 0, WINDOW, WINDOW, "more rows than"},
        {{.pages = {9, 9}, .rows = 19}, 0, 19, 1, "fewer rows than its row group"},
        {{.pages = {9, 9}, .rows = 20}, 9, 11, 2, "fewer rows than its row group"},
        {{.pages = {9, 9}, .page_says = 10, .rows = 19}, 0, 19, 19, "damaged: "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct made_group group = cases[i].group;
        struct parquet_bytes bytes = made_parquet(&group, 1);
        char fault[600] = "";
        int64_t rows = 0;
        int before = test_failures;
        CHECK_INT(count_faults(&bytes, cases[i].first, &rows, fault, sizeof fault),
                  cases[i].faults);
        CHECK_INT(rows, cases[i].rows);
        CHECK(strstr(fault, "column \"x\": ") && strstr(fault, cases[i].why));
        if (test_failures > before) {
            printf("# %zu: %s\n", i, fault);
        }
        free(bytes.data);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Cuts all blocks, which must tile the file; their number, or -1. */
static int64_t cut_all(struct made_group *groups, size_t count, int64_t block_bytes,
                       struct error *err) {
    struct parquet_bytes bytes = made_parquet(groups, count);
    struct table_parquet *parquet = NULL;
    CHECK_OK(open_made(&bytes, &parquet, err), err);
    int64_t rows = parquet ? table_parquet_rows(parquet) : 0, blocks = 0;
    for (int64_t at = 0, end = 0; at < rows && blocks >= 0; at = end) {
        if (table_parquet_cut(parquet, at, block_bytes, &end, err) < 0) {
            blocks = -1;
            break;
        }
        CHECK(end > at && end <= rows);
        blocks++;
    }
    table_parquet_free(parquet);
    free(bytes.data);
    return blocks;
}

static void test_rows_that_are_not_there_are_not_cut(void) {
    static const int64_t sizes[] = {0, BLOCK, 1 << 20};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct made_group groups[] = {{.pages = {9}}, {.pages = {9, 9}, .rows = (int64_t)1 << 31}};
        struct error err = {0};
        CHECK_INT(cut_all(groups, 2, sizes[i], &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK_STR(err.text, "damaged: row group 1: column \"x\": its pages have 18 values, the "
                            "footer says 2147483648");
    }
    struct made_group damaged[] = {{.pages = {9}, .rows = (int64_t)1 << 40, .size = 5}};
    struct error err = {0};
    CHECK_INT(cut_all(damaged, 1, BLOCK, &err), -1);
    CHECK(strstr(err.text, "row group 0: column \"x\": damaged page header"));
}

static void test_blocks_are_bounded_by_the_file(void) {
    struct error err = {0};
    struct made_group lies[] = {{.pages = {9}, .rows = 50000, .unpacked = INT64_MAX},
                                {.pages = {9}, .rows = 50000, .unpacked = INT64_MAX / 2}};
    int64_t blocks = cut_all(lies, 2, BLOCK, &err);
    CHECK(blocks >= 2 && blocks <= 10);
    struct made_group many[] = {{.pages = {1}, .page_says = 1 << 30, .rows = 1 << 30}};
    CHECK_INT(cut_all(many, 1, 1 << 30, &err), 1025); /* pages of one value may have as many */
    struct made_group rows[] = {{.pages = {3, 4}}, {.pages = {2}}};
    CHECK_INT(cut_all(rows, 2, 0, &err), 9); /* a row each */
    struct made_group small[] = {{.pages = {3, 4}}, {.pages = {2}}, {.pages = {8000, 8000}}};
    CHECK_INT(cut_all(small, 3, BLOCK, &err), 2 + 1);
}

int main(void) {
    TEST(test_claims_that_cannot_be_true);
    TEST(test_gaps_are_allowed);
    TEST(test_pages_of_other_rows_have_faults);
    TEST(test_rows_that_are_not_there_are_not_cut);
    TEST(test_blocks_are_bounded_by_the_file);
    return TEST_END();
}
