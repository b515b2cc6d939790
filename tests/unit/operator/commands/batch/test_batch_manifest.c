// SPDX-License-Identifier: Apache-2.0
/* Which files are batch files: by their first line that is not empty. */
#include "operator/commands/batch/batch_manifest.h"

#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST "{\"custom_id\": \"a\", \"body\": {\"model\": \"m\"}}"

enum { LONG = 200 << 10 }; /* more than is read at once */

static char folder[] = "/tmp/windlass-batch-XXXXXX";

static bool is_batch(const char *text, size_t size) {
    AUTO(text_freep) char *path = file_join(folder, "requests.jsonl");
    FILE *file = fopen(path, "we");
    CHECK(file && fwrite(text, 1, size, file) == size && fclose(file) == 0);
    bool is_it = batch_manifest_is_of(path);
    unlink(path);
    return is_it;
}

static void test_first_line(void) {
    static const struct {
        const char *text;
        bool is_it;
    } rows[] = {
        {REQUEST "\n", true},
        {REQUEST, true},
        {" \r\n\n\t" REQUEST "\nwhat comes later is not read", true},
        {"", false},
        {"\n \n", false},
        {"kind: Job\n" REQUEST "\n", false},
        {"{\"custom_id\": \"a\"}\n", false},
        {"{\"custom_id\": 5, \"body\": {}}\n", false},
        {"{\"custom_id\": \"a\",\n\"body\": {}}\n", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_INT(is_batch(rows[i].text, strlen(rows[i].text)), rows[i].is_it);
    }
    CHECK(!is_batch(REQUEST "\0\n", sizeof REQUEST + 1));
}

static void test_long_line(void) {
    AUTO(text_freep) char *filler = x_calloc(1, LONG + 1);
    memset(filler, 'x', LONG);
    AUTO(text_freep)
    char *line = x_printf("{\"custom_id\": \"a\", \"body\": {\"prompt\": \"%s\"}}\n[]", filler);
    CHECK(is_batch(line, strlen(line)));
    memset(filler, '\n', LONG);
    AUTO(text_freep) char *blank = x_printf("%s" REQUEST "\n", filler);
    CHECK(is_batch(blank, strlen(blank)));
    AUTO(text_freep) char *none = x_printf("%s", filler);
    CHECK(!is_batch(none, strlen(none)));
}

/* Neither waits for a writer nor takes what somebody else is to read. */
static void test_no_file(void) {
    AUTO(text_freep) char *pipe = file_join(folder, "pipe");
    CHECK(mkfifo(pipe, 0600) == 0);
    CHECK(!batch_manifest_is_of(pipe));
    unlink(pipe);
    CHECK(!batch_manifest_is_of(pipe));
    CHECK(!batch_manifest_is_of(folder));
    CHECK(!batch_manifest_is_of("/dev/zero"));
    CHECK(!batch_manifest_is_of("-"));
}

int main(void) {
    CHECK(mkdtemp(folder));
    TEST(test_first_line);
    TEST(test_long_line);
    TEST(test_no_file);
    rmdir(folder);
    return TEST_END();
}
