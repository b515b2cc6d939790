// SPDX-License-Identifier: Apache-2.0
/* The names of rows, also when their table cannot be read any more. */
#include "agent/score/log/item_name.h"
#include "tests/unit/agent/spec_defaults.h"

#include "agent/data/kinds/table.h"
#include "tests/unit/agent/data/tries.h"

#include <poll.h>

enum { ROWS = 20000 };

/* Keys alternate, so that each has ROWS / keys ranges. */
static void write_table(const char *path, int keys) {
    FILE *file = fopen(path, "w");
    CHECK(file);
    fputs("n,x\n", file);
    for (int i = 0; i < ROWS; i++) {
        fprintf(file, "%d,%c\n", i, 'a' + i % keys);
    }
    CHECK(fclose(file) == 0);
}

static void check_name(struct item_names *names, int64_t index, const char *wanted) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer name;
    buffer_init(&name, 1000);
    CHECK_OK(item_names_add(names, 0, index, &name, &err), &err);
    CHECK_STR(name.data ? name.data : "", wanted);
}

/* The 13th row of the first mini-batch and the 2nd; the same after the table is gone. */
static void check_names(const char *folder, const char *table, int keys,
                        const char *const wanted[static 4]) {
    struct error err = {0};
    AUTO(text_freep) char *in = x_printf("%s/%s-in", fixtures_out, folder);
    AUTO(text_freep) char *file = x_printf("%s/a.csv", in);
    AUTO(text_freep) char *output_path = x_printf("out/%s", folder);
    AUTO(text_freep)
    char *text = x_printf("{\"input\":{\"table\":{\"path\":\"out/%s-in\"%s}},"
                          "\"output\":{\"path\":\"out/%s\"}}",
                          folder, table, folder);
    AUTO(tree_freep) json_t *spec = spec_fill(json_loads(text, 0, NULL));
    AUTO(store_freep) struct store *output = open_output(output_path);
    CHECK_OK(file_make_folders(in, &err), &err);
    write_table(file, keys);
    struct list_options options = {
        .output = output, .run = RUN, .scratch = "7", .spec = spec, .kind = table_media.lines};
    struct list *list = NULL;
    CHECK_OK(list_open(&options, &list, &err), &err);
    int64_t lines = 0;
    for (int result = 0; list && result >= 0 && !list_is_complete(list);) {
        CHECK_OK(result = list_turn(list, &lines, &err), &err);
        poll(NULL, 0, 1);
    }
    CHECK_INT(lines, *table ? keys : 1);
    struct item_names *names = item_names_new(spec, table_media.lines, list);
    check_name(names, 12, wanted[0]);
    check_name(names, 1, wanted[1]);
    item_names_free(names);
    CHECK(unlink(file) == 0);
    names = item_names_new(spec, table_media.lines, list);
    check_name(names, 12, wanted[2]);
    check_name(names, 1, wanted[3]);
    item_names_free(names);
    list_free(list);
}

static void test_rows_of_a_block(void) {
    static const char *const wanted[] = {"a.csv:54", "a.csv:8", "a.csv:4+12", "a.csv:4+1"};
    check_names("block", "", 1, wanted);
}

static void test_rows_of_a_key(void) {
    static const char *const wanted[] = {"a.csv:54", "a.csv:8", "a.csv:4+12", "a.csv:4+1"};
    check_names("key", ",\"partitionKeys\":[\"x\"]", 1, wanted);
}

/* More ranges than fit into a line: they are in an object, and the name is the key's. */
static void test_rows_of_a_key_in_many_places(void) {
    static const char *const wanted[] = {"a.csv:114", "a.csv:12", "[\"a\"]+12", "[\"a\"]+1"};
    check_names("ranges", ",\"partitionKeys\":[\"x\"]", 2, wanted);
}

int main(void) {
    fixtures_start("item_name");
    TEST(test_rows_of_a_block);
    TEST(test_rows_of_a_key);
    TEST(test_rows_of_a_key_in_many_places);
    return TEST_END();
}
