// SPDX-License-Identifier: Apache-2.0
#include "agent/data/table/row_parser.h"

#include "lib/tree.h"
#include "tests/test.h"
#include "tests/unit/agent/data/table/tables.h"

#include <sys/resource.h>

enum { TABLE_MAX = 3000 };

static struct row_parser *open_rows(enum split_format format, const char *header, size_t row_max) {
    struct row_parser_options options = {format, header, header ? strlen(header) : 0, row_max};
    struct row_parser *rows = NULL;
    struct error err = {0};
    CHECK_OK(row_parser_new(&options, &rows, &err), &err);
    return rows;
}

/* Each row (or its fault, after a '!') as "PLACE:TEXT\n", of data given in pieces of at most
 * piece_max bytes, each in memory of its exact size, so that sanitizers see reads past the end. */
static void list_rows(struct row_parser *rows, const char *data, size_t size, int64_t offset,
                      size_t piece_max, struct buffer *list) {
    struct error err = {0};
    row_parser_start(rows, offset);
    size_t at = 0;
    bool more = true;
    while (more) {
        size_t piece = at < size ? 1 + table_random(MIN(size - at, piece_max)) : 0;
        char *bytes = x_malloc(piece);
        if (piece) {
            memcpy(bytes, data + at, piece);
            row_parser_add(rows, bytes, piece);
        } else {
            row_parser_end(rows);
        }
        at += piece;
        more = piece > 0;
        struct buffer json;
        buffer_init(&json, 1 << 20);
        const char *fault = NULL;
        while (row_parser_next(rows, &json, &fault, &err) == 1) {
            CHECK_OK(buffer_printf(list, &err, "%lld:%s", (long long)row_parser_place(rows),
                                   fault ? "!" : ""),
                     &err);
            CHECK_OK(fault ? buffer_append(list, fault, strlen(fault), &err)
                           : buffer_append(list, json.data, json.size, &err),
                     &err);
            CHECK_OK(buffer_append(list, "\n", 1, &err), &err);
            CHECK(!fault || json.size == 0);
            buffer_clear(&json);
        }
        CHECK_INT(err.kind, ERROR_NONE);
        buffer_release(&json);
        free(bytes);
    }
}

struct example {
    enum split_format format;
    const char *header, *data, *rows;
    size_t size; /* 0: strlen(data) */
};

static const struct example examples[] = {
    {SPLIT_CSV, "name,age\n", "Ada,36\nBob,7\n",
     "0:{\"name\":\"Ada\",\"age\":\"36\"}\n7:{\"name\":\"Bob\",\"age\":\"7\"}\n", 0},
    {SPLIT_CSV, NULL, "Ada,36", "0:[\"Ada\",\"36\"]\n", 0},
    {SPLIT_CSV, NULL, "", "", 0},
    /* CRLF, a lone CR, a CR at the very end */
    {SPLIT_CSV, NULL, "a,b\r\nc\rd,\"e\r\n\"\r\nf,\r",
     "0:[\"a\",\"b\"]\n5:[\"c\\rd\",\"e\\r\\n\"]\n16:[\"f\",\"\\r\"]\n", 0},
    /* quotes: doubled, with newlines and commas, in the middle of a field, after a closed one */
    {SPLIT_CSV, NULL, "\"a \"\"b\"\"\",\"\"\"\",\"\"\n", "0:[\"a \\\"b\\\"\",\"\\\"\",\"\"]\n", 0},
    {SPLIT_CSV, NULL, "\"a,\nb\",5\" pipe,6\"\n", "0:[\"a,\\nb\",\"5\\\" pipe\",\"6\\\"\"]\n", 0},
    {SPLIT_CSV, NULL, "\"a\"b\"c\",d\n", "0:[\"ab\\\"c\\\"\",\"d\"]\n", 0},
    {SPLIT_CSV, NULL, " \"a\",b\n", "0:[\" \\\"a\\\"\",\"b\"]\n", 0},
    /* empty lines are not rows; a line of a space, of one comma, of two quotes is */
    {SPLIT_CSV, NULL, "\n\r\na\n\n \n,\n\"\"\n\n",
     "3:[\"a\"]\n6:[\" \"]\n8:[\"\",\"\"]\n10:[\"\"]\n", 0},
    {SPLIT_CSV, "x,y\n", "1\n1,2\n1,2,3\n1,2,3,4\n",
     "0:!1 fields, the header has 2\n2:{\"x\":\"1\",\"y\":\"2\"}\n6:!3 fields, the header has 2\n"
     "12:!4 fields, the header has 2\n",
     0},
    {SPLIT_CSV, "x,y\n", "1,\"2\n3,4\n", "0:!a quote is not closed in field 2\n", 0},
    {SPLIT_CSV, NULL, "a\n\"", "0:[\"a\"]\n2:!a quote is not closed in field 1\n", 0},
    {SPLIT_CSV, NULL, "a\0b,\x01\n", "0:[\"a\\u0000b\",\"\\u0001\"]\n", 6},
    {SPLIT_CSV, NULL, "ok\nb\xFF\nok\n",
     "0:[\"ok\"]\n3:!invalid UTF-8 at byte 1 of the row\n6:[\"ok\"]\n", 0},
    {SPLIT_CSV, NULL, "\xED\xA0\x80\n\xC0\x80\n\xF4\x90\x80\x80\n\xC3\n",
     "0:!invalid UTF-8 at byte 0 of the row\n4:!invalid UTF-8 at byte 0 of the row\n7:!invalid "
     "UTF-8 at byte 0 of "
     "the "
     "row\n12:!invalid UTF-8 at byte 0 of the row\n",
     0},
    {SPLIT_CSV, NULL, "\xF0\x9F\x98\x80\\/\b\f\n", "0:[\"\xF0\x9F\x98\x80\\\\/\\b\\f\"]\n", 0},
    {SPLIT_CSV, "\"a \"\"b\"\"\",\"c\nd\"\r\n", "1,2\n",
     "0:{\"a \\\"b\\\"\":\"1\",\"c\\nd\":\"2\"}\n", 0},
    {SPLIT_CSV, ",a\n", "0,1\n", "0:{\"\":\"0\",\"a\":\"1\"}\n", 0},
    /* TSV: a quote is a quote, a comma a comma */
    {SPLIT_TSV, "x\ty\n", "\"a\t5\"\r\n,\t\n",
     "0:{\"x\":\"\\\"a\",\"y\":\"5\\\"\"}\n7:{\"x\":\",\",\"y\":\"\"}\n", 0},
    /* JSON Lines: byte for byte, or not at all */
    {SPLIT_LINES, NULL, "{\"a\": [1, 2.50e3]}\r\n\n  \n\"x\"\n null ",
     "0:{\"a\": [1, 2.50e3]}\n24:\"x\"\n28: null \n", 0},
    {SPLIT_LINES, NULL, "{\"a\":1}{\"a\":2}\n[1,\n2]\nNaN\n",
     "0:!the line is not one JSON value\n15:!the line is not one JSON value\n19:!the line is not "
     "one "
     "JSON value\n22:!the line is not one JSON value\n",
     0},
    {SPLIT_LINES, NULL, "\"\\ud800\"\n\"a\0b\"\n\"\xFF\"\n",
     "0:\"\\ud800\"\n9:!the line is not one JSON value\n15:!invalid UTF-8 at byte 1 of the row\n",
     19},
};

static void test_rows_are_what_they_say(void) {
    table_random_start(1, 1);
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        const struct example *example = &examples[i];
        AUTO(row_parser_freep)
        struct row_parser *rows = open_rows(example->format, example->header, ROW_BYTES_MAX);
        size_t size = example->size ? example->size : strlen(example->data);
        for (size_t piece = 1; piece <= size + 1; piece++) {
            struct buffer list;
            buffer_init(&list, 1 << 20);
            list_rows(rows, example->data, size, 0, piece, &list);
            CHECK_STR(list.data ? list.data : "", example->rows);
            buffer_release(&list);
        }
    }
}

/* Writes a random field of CSV, quoted where it must be and at random elsewhere. Returns its text.
 */
static json_t *write_random_field(struct buffer *data) {
    struct error err = {0};
    char text[12];
    size_t length = table_random(sizeof text);
    for (size_t i = 0; i < length; i++) {
        text[i] = "\"\",\n\rab \\\x01"[table_random(10)];
    }
    bool is_plain = !memchr(text, '"', length) && !memchr(text, ',', length) &&
                    !memchr(text, '\n', length) && !memchr(text, '\r', length) && length > 0 &&
                    table_random(2);
    CHECK_OK(buffer_append(data, "\"", !is_plain, &err), &err);
    for (size_t i = 0; i < length; i++) {
        CHECK_OK(buffer_append(data, "\"\"", text[i] == '"', &err), &err);
        CHECK_OK(buffer_append(data, &text[i], 1, &err), &err);
    }
    CHECK_OK(buffer_append(data, "\"", !is_plain, &err), &err);
    return json_stringn(text, length);
}

/* Writes a random table. Returns the texts of its fields, row by row. */
static json_t *write_random_table(struct buffer *data) {
    struct error err = {0};
    json_t *rows = json_array();
    for (size_t row = 0, count = table_random(8); row < count; row++) {
        json_t *texts = json_array();
        for (size_t field = 0, fields = 1 + table_random(4); field < fields; field++) {
            CHECK_OK(buffer_append(data, ",", field > 0, &err), &err);
            json_array_append_new(texts, write_random_field(data));
        }
        json_array_append_new(rows, texts);
        const char *newline = row + 1 == count && table_random(2) ? ""
                              : table_random(2)                   ? "\n"
                                                                  : "\r\n";
        CHECK_OK(buffer_append(data, newline, strlen(newline), &err), &err);
    }
    return rows;
}

/* The texts of a table come back, whatever quoting was used to write them. */
static void test_what_was_written_is_read(void) {
    uint64_t seed = test_seed(7), rounds = table_rounds(2000);
    AUTO(row_parser_freep) struct row_parser *csv = open_rows(SPLIT_CSV, NULL, ROW_BYTES_MAX);
    for (uint64_t round = 0; round < rounds && !test_failures; round++) {
        table_random_start(seed, round);
        struct buffer data, list;
        buffer_init(&data, 1 << 20);
        buffer_init(&list, 1 << 20);
        AUTO(tree_freep) json_t *wanted = write_random_table(&data);
        list_rows(csv, data.data, data.size, 0, 1 + table_random(40), &list);
        AUTO(tree_freep) json_t *seen = json_array();
        for (char *line = list.data, *next; line && *line; line = next) {
            next = strchr(line, '\n');
            *next++ = 0;
            json_array_append_new(seen, json_loads(strchr(line, ':') + 1, 0, NULL));
        }
        if (!json_equal(seen, wanted)) {
            AUTO(text_freep) char *text = json_dumps(wanted, 0);
            printf("# SOAK_SEED=%llu, round %llu: %s\n", (unsigned long long)seed,
                   (unsigned long long)round, text);
            CHECK(!"read as written");
        }
        buffer_release(&data);
        buffer_release(&list);
    }
}

struct blocks {
    struct row_parser *rows;
    const char *data;
    struct buffer *list;
};

static int read_block(void *context, int64_t first, int64_t end, struct error *err UNUSED) {
    struct blocks *blocks = context;
    list_rows(blocks->rows, blocks->data + first, (size_t)(end - first), first,
              1 + table_random(100), blocks->list);
    return 0;
}

/* Blocks of any size, cut from chunks of any size, read in pieces of any size: each row of the file
 * once, in order, none cut, none changed. */
static void test_every_row_comes_once_whatever_the_blocks(void) {
    static char data[TABLE_MAX];
    static struct split_chunk chunk;
    uint64_t seed = test_seed(7), rounds = table_rounds(2000);
    for (uint64_t round = 0; round < rounds && !test_failures; round++) {
        table_random_start(seed, round);
        enum split_format format = (enum split_format)table_random(3);
        size_t size = 1 + table_random(TABLE_MAX);
        table_noise(data, size);
        AUTO(row_parser_freep)
        struct row_parser *rows =
            open_rows(format, format != SPLIT_LINES && table_random(2) ? "a,b\tc\n" : NULL,
                      table_random(3) ? ROW_BYTES_MAX : 1 + table_random(100));
        struct buffer whole, parts;
        buffer_init(&whole, 1 << 20);
        buffer_init(&parts, 1 << 20);
        list_rows(rows, data, size, 0, size, &whole);
        struct blocks blocks = {rows, data, &parts};
        struct splitter_options options = {format, 0, 4 + (int64_t)table_random(size),
                                           SPLIT_CHUNK_MAX, "t"};
        AUTO(splitter_freep) struct splitter *splitter = splitter_new(&options);
        struct error err = {0};
        for (size_t at = 0, piece; at < size; at += piece) {
            piece = 1 + table_random(size - at);
            split_scan(format, data + at, piece, (int64_t)at, options.block_bytes, &chunk);
            CHECK_OK(splitter_add(splitter, &chunk, read_block, &blocks, &err), &err);
        }
        CHECK_OK(splitter_end(splitter, (int64_t)size, read_block, &blocks, &err), &err);
        if (whole.size != parts.size || (whole.size && strcmp(whole.data, parts.data) != 0)) {
            printf("# SOAK_SEED=%llu, round %llu\n", (unsigned long long)seed,
                   (unsigned long long)round);
            CHECK(!"the same rows");
        }
        buffer_release(&whole);
        buffer_release(&parts);
    }
}

static int64_t most_memory_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* A line of 1 GiB is counted, not kept; the next row is read normally. */
static void check_long_row(enum split_format format) {
    enum { PIECE = 1 << 20 };
    AUTO(row_parser_freep) struct row_parser *rows = open_rows(format, NULL, PIECE);
    char *piece = x_malloc(PIECE);
    memset(piece, '1', PIECE);
    struct buffer json;
    struct error err = {0};
    const char *fault = NULL;
    buffer_init(&json, 1 << 20);
    int64_t before_kib = most_memory_kib();
    row_parser_start(rows, 5);
    for (int i = 0; i < 1024; i++) {
        row_parser_add(rows, piece, PIECE);
        CHECK_INT(row_parser_next(rows, &json, &fault, &err), 0);
    }
    row_parser_add(rows, "\n7\n", 3);
    CHECK_INT(row_parser_next(rows, &json, &fault, &err), 1);
    CHECK_STR(fault, "row of 1073741825 bytes, at most 1048576 are scored");
    CHECK_INT(row_parser_place(rows), 5);
    CHECK_INT(row_parser_next(rows, &json, &fault, &err), 1);
    CHECK(!fault);
    CHECK_STR(json.data, format == SPLIT_LINES ? "7" : "[\"7\"]");
    CHECK_INT(row_parser_place(rows), 5 + 1073741825);
    CHECK(most_memory_kib() - before_kib < 32 << 10);
    buffer_release(&json);
    free(piece);
}

static void test_a_row_of_a_gigabyte_is_counted_and_not_held(void) {
    check_long_row(SPLIT_LINES);
    check_long_row(SPLIT_TSV);
    check_long_row(SPLIT_CSV);
}

static void test_no_room_passes_the_row_over(void) {
    AUTO(row_parser_freep) struct row_parser *rows = open_rows(SPLIT_CSV, "a,b\n", 100);
    struct buffer json;
    const char *fault = NULL;
    buffer_init(&json, 40);
    row_parser_add(rows, "1,2\n1,\x01\x01\x01\x01\x01\n3,4\n", 16);
    row_parser_end(rows);
    struct error err = {0};
    CHECK_OK(row_parser_next(rows, &json, &fault, &err), &err);
    CHECK_INT(row_parser_next(rows, &json, &fault, &err), -1);
    CHECK_INT(err.kind, ERROR_EXHAUSTED);
    CHECK_INT(row_parser_place(rows), 4);
    error_clear(&err);
    CHECK_STR(json.data, "{\"a\":\"1\",\"b\":\"2\"}");
    CHECK_INT(row_parser_next(rows, &json, &fault, &err), 1);
    CHECK_STR(json.data, "{\"a\":\"1\",\"b\":\"2\"}{\"a\":\"3\",\"b\":\"4\"}");
    CHECK_INT(row_parser_next(rows, &json, &fault, &err), 0);
    buffer_release(&json);
}

static void test_a_header_is_found_or_refused(void) {
    static char long_header[ROW_HEADER_MAX + 10];
    memset(long_header, 'x', sizeof long_header);
    long_header[sizeof long_header - 1] = '\n';
    const struct {
        const char *data;
        size_t size;
        bool has_all;
        size_t first, end;
        const char *problem;
    } rows[] = {
        {"a,b\n1,2\n", 8, true, 0, 4, NULL},
        {"\xEF\xBB\xBF\"a\nb\",c\r\n1,2", 15, true, 3, 12, NULL},
        {"a,b", 3, true, 0, 3, NULL},
        {"", 0, true, 0, 0, "is empty"},
        {"\xEF\xBB\xBF", 3, true, 0, 0, "is empty"},
        {long_header, sizeof long_header, true, 0, 0, "longer than 65536 bytes"},
        {"\"a,b\n1,2\n", 9, false, 0, 0, "longer than 65536 bytes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct row_header header = {99, 99};
        int result = row_parser_header(SPLIT_CSV, rows[i].data, rows[i].size, rows[i].has_all,
                                       &header, &err);
        CHECK_INT(result, rows[i].problem ? -1 : 0);
        CHECK_INT(header.first, rows[i].problem ? 99 : rows[i].first);
        CHECK_INT(header.end, rows[i].problem ? 99 : rows[i].end);
        CHECK(!rows[i].problem || strstr(err.text, rows[i].problem));
    }
}

static void test_a_bad_header_is_invalid(void) {
    static const struct {
        const char *header, *problem;
    } rows[] = {
        {"a,b,c", "the header has a NUL byte: expected UTF-8, not UTF-16"},
        {"a,b,a\n", "the header has the column \"a\" twice"},
        {"\"x\ny\",\"x\ny\"\n", "the header has the column \"x\\ny\" twice"},
        {",\n", "the header has the column \"\" twice"},
        {"a,\xFFz\n", "the header is not UTF-8 at byte 2"},
        {"a,\"b\n", "the header has an unterminated quote"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct row_parser_options options = {SPLIT_CSV, rows[i].header, strlen(rows[i].header),
                                             100};
        struct row_parser *opened = NULL;
        struct error err = {0};
        options.header_size += i == 0; /* its NUL, too */
        CHECK_INT(row_parser_new(&options, &opened, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK_STR(err.text, rows[i].problem);
        CHECK(!opened);
    }
    AUTO(row_parser_freep)
    struct row_parser *fine = open_rows(SPLIT_CSV, "a,\"b \"\"c\",\r\n", 100);
    CHECK_STR(row_parser_columns(fine), "[\"a\",\"b \\\"c\",\"\"]");
}

/* 65,536 bytes of header, all commas or all control characters: still bounded, still answered. */
static void test_the_widest_header_fits(void) {
    static char header[ROW_HEADER_MAX + 1];
    memset(header, '\x01', ROW_HEADER_MAX);
    AUTO(row_parser_freep) struct row_parser *rows = open_rows(SPLIT_TSV, header, 100);
    CHECK_INT(strlen(row_parser_columns(rows)), 6 * ROW_HEADER_MAX + 4);
    for (size_t i = 0; i + 3 < ROW_HEADER_MAX; i += 4) { /* 16,384 names of three letters */
        snprintf(header + i, 5, "%c%c%c\t", (char)('0' + i / 4 % 32), (char)('0' + i / 128 % 32),
                 (char)('A' + i / 4096));
    }
    header[ROW_HEADER_MAX - 1] = 0;
    AUTO(row_parser_freep) struct row_parser *wide = open_rows(SPLIT_TSV, header, 100);
    CHECK_INT(strlen(row_parser_columns(wide)), 16384 * 6 + 1);
}

int main(void) {
    TEST(test_rows_are_what_they_say);
    TEST(test_what_was_written_is_read);
    TEST(test_every_row_comes_once_whatever_the_blocks);
    TEST(test_a_row_of_a_gigabyte_is_counted_and_not_held);
    TEST(test_no_room_passes_the_row_over);
    TEST(test_a_header_is_found_or_refused);
    TEST(test_a_bad_header_is_invalid);
    TEST(test_the_widest_header_fits);
    return TEST_END();
}
