// SPDX-License-Identifier: Apache-2.0
#include "agent/data/table/splitter.h"

#include "tests/test.h"
#include "tests/unit/agent/data/table/tables.h"

enum { TABLE_MAX = 3000, CHUNKS_MAX = 64 };

struct cutting {
    int64_t ends[TABLE_MAX + 1];
    size_t count;
    int64_t at;
    bool is_bad;
};

static int on_block(void *context, int64_t first, int64_t end, struct error *err UNUSED) {
    struct cutting *cutting = context;
    cutting->is_bad |= first != cutting->at || end <= first || cutting->count > TABLE_MAX;
    if (!cutting->is_bad) {
        cutting->ends[cutting->count++] = cutting->at = end;
    }
    return 0;
}

struct table {
    enum split_format format;
    const char *data;
    size_t size;
    int64_t first, block_bytes;
};

/* As split.h defines it, target after target. */
static void cut_slowly(const struct table *table, struct cutting *cutting) {
    bool ends[TABLE_MAX] = {0};
    size_t first = (size_t)table->first;
    table_row_ends(table->format, table->data + first, table->size - first, ends + first);
    for (int64_t target = table->block_bytes; target <= (int64_t)table->size;
         target += table->block_bytes) {
        int64_t end = MAX(target, table->first + 1);
        while (end <= (int64_t)table->size && !ends[end - 1]) {
            end++;
        }
        if (target > table->first && end <= (int64_t)table->size && end > cutting->at) {
            on_block(cutting, cutting->at, end, NULL);
        }
    }
    if ((int64_t)table->size > cutting->at) {
        on_block(cutting, cutting->at, (int64_t)table->size, NULL);
    }
}

/* Chunks end after the bytes whose bit is set (or, for a longer table, at random); all are scanned
 * before the first is chained, the last first. */
static void cut_chunks(const struct table *table, const int64_t *chunk_ends, size_t count,
                       struct cutting *cutting) {
    static struct split_chunk chunks[CHUNKS_MAX];
    struct splitter_options options = {table->format, table->first, table->block_bytes,
                                       SPLIT_CHUNK_MAX, "t.csv"};
    AUTO(splitter_freep) struct splitter *splitter = splitter_new(&options);
    struct error err = {0};
    for (size_t i = count; i-- > 0;) {
        int64_t begin = i ? chunk_ends[i - 1] : table->first;
        split_scan(table->format, table->data + begin, (size_t)(chunk_ends[i] - begin), begin,
                   table->block_bytes, &chunks[i]);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(splitter_add(splitter, &chunks[i], on_block, cutting, &err), &err);
    }
    CHECK_OK(splitter_end(splitter, (int64_t)table->size, on_block, cutting, &err), &err);
}

/* Only the ranges that the splitter requests, in random pieces. */
static void cut_sparsely(const struct table *table, struct cutting *cutting) {
    static struct split_chunk chunk;
    struct splitter_options options = {table->format, table->first, table->block_bytes,
                                       SPLIT_CHUNK_MAX, "t.csv"};
    AUTO(splitter_freep) struct splitter *splitter = splitter_new(&options);
    struct error err = {0};
    int64_t next;
    while ((next = splitter_next(splitter)) < (int64_t)table->size) {
        size_t size = 1 + table_random((size_t)MIN((int64_t)table->size - next, 200));
        split_scan(table->format, table->data + next, size, next, table->block_bytes, &chunk);
        CHECK_OK(splitter_add(splitter, &chunk, on_block, cutting, &err), &err);
    }
    CHECK_OK(splitter_end(splitter, (int64_t)table->size, on_block, cutting, &err), &err);
}

static bool is_same(const struct cutting *a, const struct cutting *b) {
    return !a->is_bad && !b->is_bad && a->count == b->count &&
           memcmp(a->ends, b->ends, a->count * sizeof *a->ends) == 0;
}

static struct cutting slow, fast;

static void begin_cut(struct cutting *cutting, const struct table *table) {
    cutting->count = 0;
    cutting->is_bad = false;
    cutting->at = table->first;
}

static bool check_every_chunking(const struct table *table) {
    begin_cut(&slow, table);
    cut_slowly(table, &slow);
    for (unsigned cuts = 0; cuts < 1u << (table->size - 1); cuts++) {
        int64_t ends[8];
        size_t count = 0;
        for (size_t i = 1; i < table->size; i++) {
            if (cuts >> (i - 1) & 1) {
                ends[count++] = (int64_t)i;
            }
        }
        ends[count++] = (int64_t)table->size;
        begin_cut(&fast, table);
        cut_chunks(table, ends, count, &fast);
        if (!is_same(&slow, &fast)) {
            printf("# '%.*s' in blocks of %lld, cut at %x\n", (int)table->size, table->data,
                   (long long)table->block_bytes, cuts);
            return false;
        }
    }
    return true;
}

/* Cuts the table with every block size. Returns their number. */
static size_t check_every_block_size(const char *data, size_t size) {
    size_t tables = 0;
    for (int64_t block_bytes = 1; block_bytes <= (int64_t)size + 1 && !test_failures;
         block_bytes++, tables++) {
        struct table table = {SPLIT_CSV, data, size, 0, block_bytes};
        CHECK(check_every_chunking(&table));
    }
    return tables;
}

/* Every table of up to 5 bytes (of the special bytes), every block size, every chunking. */
static void test_every_small_table_is_cut_alike_in_every_way(void) {
    static const char bytes[5] = "\",\n\ra";
    size_t tables = 0;
    for (size_t size = 1, count = 5; size <= 5; size++, count *= 5) {
        for (size_t number = 0; number < count && !test_failures; number++) {
            char data[5];
            for (size_t i = 0, rest = number; i < size; i++, rest /= 5) {
                data[i] = bytes[rest % 5];
            }
            tables += check_every_block_size(data, size);
        }
    }
    CHECK_INT(tables, 5 * 2 + 25 * 3 + 125 * 4 + 625 * 5 + 3125 * 6);
}

static bool check_random_table(size_t limit) {
    static char data[TABLE_MAX];
    struct table table = {(enum split_format)table_random(3), data, 1 + table_random(limit), 0, 0};
    table_noise(data, table.size);
    table.first = (int64_t)table_random(MIN(table.size, 40));
    table.block_bytes = 1 + (int64_t)table_random(table.size);
    int64_t ends[CHUNKS_MAX], end = table.first;
    size_t count = 0, longest = 1 + table_random(table.size);
    while (end < (int64_t)table.size) {
        end += 1 + (int64_t)table_random(longest);
        if (count + 1 == CHUNKS_MAX || end > (int64_t)table.size) {
            end = (int64_t)table.size;
        }
        if (end - (count ? ends[count - 1] : table.first) > SPLIT_CUTS * table.block_bytes) {
            return true; /* more targets in a chunk than allowed */
        }
        ends[count++] = end;
    }
    begin_cut(&slow, &table);
    cut_slowly(&table, &slow);
    begin_cut(&fast, &table);
    cut_chunks(&table, ends, count, &fast);
    bool is_right = is_same(&slow, &fast);
    begin_cut(&fast, &table);
    cut_sparsely(&table, &fast);
    return is_right && is_same(&slow, &fast);
}

static void test_random_tables_are_cut_as_one_pass_would(void) {
    uint64_t seed = test_seed(7), rounds = table_rounds(20000);
    for (uint64_t round = 0; round < rounds; round++) {
        table_random_start(seed, round);
        if (!check_random_table(round % 2 ? 60 : TABLE_MAX)) {
            printf("# SOAK_SEED=%llu, round %llu\n", (unsigned long long)seed,
                   (unsigned long long)round);
            CHECK(!"cut alike");
            return;
        }
    }
}

/* split_row_end walks the rows of random tables, given in pieces. */
static void test_rows_end_where_they_end(void) {
    static char data[TABLE_MAX];
    static bool ends[TABLE_MAX];
    uint64_t seed = test_seed(7), rounds = table_rounds(5000);
    for (uint64_t round = 0; round < rounds && !test_failures; round++) {
        table_random_start(seed, round);
        enum split_format format = (enum split_format)table_random(3);
        size_t size = 1 + table_random(TABLE_MAX), at = 0;
        table_noise(data, size);
        table_row_ends(format, data, size, ends);
        enum split_state state = SPLIT_FIELD;
        while (at < size && !test_failures) {
            size_t piece = 1 + table_random(MIN(size - at, 300)), wanted = 0;
            while (wanted < piece && !ends[at + wanted]) {
                wanted++;
            }
            wanted = wanted < piece ? wanted + 1 : 0;
            CHECK_INT(split_row_end(format, &state, data + at, piece), wanted);
            at += wanted ? wanted : piece;
        }
        if (test_failures) {
            printf("# SOAK_SEED=%llu, round %llu\n", (unsigned long long)seed,
                   (unsigned long long)round);
        }
    }
}

static void test_a_mark_is_no_byte_of_the_first_row(void) {
    CHECK_INT(split_mark("\xEF\xBB\xBF\"a\"", 6), 3);
    CHECK_INT(split_mark("\xEF\xBB", 2), 0);
    CHECK_INT(split_mark("abc", 3), 0);
    CHECK_INT(split_mark("", 0), 0);
}

/* An unclosed quote in a file of 1 GiB: the row's position is reported, and soon. */
static void test_an_open_quote_ends_the_job_with_its_place(void) {
    static char data[SPLIT_CHUNK_MAX];
    static struct split_chunk chunk;
    memset(data, 'x', sizeof data);
    memcpy(data + 1000, "\na,\"open", 8);
    struct splitter_options options = {SPLIT_CSV, 0, 1 << 20, 64 << 20, "shop/a.csv"};
    AUTO(splitter_freep) struct splitter *splitter = splitter_new(&options);
    struct error err = {0};
    begin_cut(&fast, &(struct table){0});
    int chunks = 0, result = 0;
    while (result == 0 && chunks < 256) {
        int64_t offset = (int64_t)chunks * SPLIT_CHUNK_MAX;
        split_scan(SPLIT_CSV, data, sizeof data, offset, options.block_bytes, &chunk);
        result = splitter_add(splitter, &chunk, on_block, &fast, &err);
        memset(data, 'x', sizeof data);
        chunks++;
    }
    CHECK_INT(chunks, 17);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text,
              "shop/a.csv: the row at byte 1001 is longer than 67108864 bytes; is a quote "
              "not closed?");
    CHECK_INT(fast.count, 0);
}

/* The limit counts a row's bytes with its newline; neighbouring rows do not matter. */
static void test_a_row_may_have_all_the_bytes_that_it_may_have(void) {
    static struct split_chunk chunk;
    for (int more = 0; more < 2; more++) {
        char data[400];
        memset(data, 'x', sizeof data);
        data[49] = data[149 + more] = data[399] = '\n'; /* the middle row has 100 or 101 bytes */
        data[200] = data[280] = '\n';
        struct splitter_options options = {SPLIT_CSV, 0, 1000, 100, "t.csv"};
        data[360] = '\n';
        AUTO(splitter_freep) struct splitter *splitter = splitter_new(&options);
        struct error err = {0};
        int result = 0;
        for (int at = 0; at < 400 && result == 0; at += 40) {
            split_scan(SPLIT_CSV, data + at, 40, at, 1000, &chunk);
            result = splitter_add(splitter, &chunk, on_block, &fast, &err);
        }
        CHECK_INT(result, -more);
        CHECK(!more || strstr(err.text, "byte 50 is longer than 100 bytes"));
    }
}

/* 1 GiB without a newline in JSON Lines is one block, of which the splitter holds nothing. */
static void test_a_line_of_a_gigabyte_is_one_block(void) {
    static char data[SPLIT_CHUNK_MAX];
    static struct split_chunk chunk;
    memset(data, 'x', sizeof data);
    struct splitter_options options = {SPLIT_LINES, 0, 1 << 20, 64 << 20, "a.jsonl"};
    AUTO(splitter_freep) struct splitter *splitter = splitter_new(&options);
    struct error err = {0};
    begin_cut(&fast, &(struct table){0});
    int64_t end = (int64_t)1 << 30, at;
    while ((at = splitter_next(splitter)) < end) {
        size_t size = (size_t)MIN(end - at, SPLIT_CHUNK_MAX);
        data[size - 1] = at + (int64_t)size == end ? '\n' : 'x';
        split_scan(SPLIT_LINES, data, size, at, options.block_bytes, &chunk);
        CHECK_OK(splitter_add(splitter, &chunk, on_block, &fast, &err), &err);
    }
    CHECK_OK(splitter_end(splitter, end + 7, on_block, &fast, &err), &err);
    CHECK_INT(fast.count, 2);
    CHECK_INT(fast.ends[0], end);
    CHECK_INT(fast.ends[1], end + 7);
}

static int refuse(void *context UNUSED, int64_t first UNUSED, int64_t end UNUSED,
                  struct error *err) {
    return error_set(err, ERROR_CANCELLED, "enough");
}

static void test_whoever_takes_blocks_may_end_it(void) {
    static struct split_chunk chunk;
    struct splitter_options options = {SPLIT_CSV, 0, 2, SPLIT_CHUNK_MAX, "t.csv"};
    AUTO(splitter_freep) struct splitter *splitter = splitter_new(&options);
    struct error err = {0};
    split_scan(SPLIT_CSV, "a\nb\nc\n", 6, 0, 2, &chunk);
    CHECK_INT(splitter_add(splitter, &chunk, refuse, NULL, &err), -1);
    CHECK_INT(err.kind, ERROR_CANCELLED);
}

int main(void) {
    TEST(test_every_small_table_is_cut_alike_in_every_way);
    TEST(test_random_tables_are_cut_as_one_pass_would);
    TEST(test_rows_end_where_they_end);
    TEST(test_a_mark_is_no_byte_of_the_first_row);
    TEST(test_an_open_quote_ends_the_job_with_its_place);
    TEST(test_a_row_may_have_all_the_bytes_that_it_may_have);
    TEST(test_a_line_of_a_gigabyte_is_one_block);
    TEST(test_whoever_takes_blocks_may_end_it);
    return TEST_END();
}
