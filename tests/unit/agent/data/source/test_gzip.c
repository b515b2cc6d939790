// SPDX-License-Identifier: Apache-2.0
/* Files packed by gzip are read back; files that are cut, changed or extended are refused. */
#include "agent/data/source/gzip.h"
#include "tests/unit/agent/data/fixtures.h"

#include <stdint.h>

static char *read_made(const char *command, size_t *ret_size) {
    struct error err = {0};
    char *data = NULL;
    AUTO(text_freep) char *path = x_printf("%s/packed.gz", fixtures_out);
    AUTO(text_freep) char *line = x_printf("cd %s && { %s; } > packed.gz", fixtures_out, command);
    CHECK_INT(system(line), 0);
    CHECK_OK(file_read(path, 1 << 20, &data, ret_size, &err), &err);
    return data;
}

static int unpack(const char *data, size_t size, size_t max, struct buffer *buffer,
                  struct error *err) {
    /* A copy of the exact size, so that reads past the end are found. */
    AUTO(text_freep) char *copy = x_malloc(MAX(size, (size_t)1));
    memcpy(copy, data, size);
    *err = (struct error){0};
    buffer_init(buffer, max);
    return gzip_pass(copy, size, &(struct gzip_sink){buffer, gzip_append}, err);
}

static void test_what_gzip_packs_comes_back(void) {
    struct error err = {0};
    size_t size = 0;
    AUTO(text_freep)
    char *data = read_made("seq 1 50000 | gzip -9; seq 50001 60000 | gzip -1", &size);
    AUTO(buffer_release) struct buffer text;
    CHECK(gzip_is(data, size) && !gzip_is("\x1F", 1) && !gzip_is("PK", 2));
    CHECK_OK(unpack(data, size, 1 << 20, &text, &err), &err);
    char *at = text.data;
    for (long i = 1; i <= 60000 && at; i++) {
        CHECK_INT(strtol(at, &at, 10), i);
        at = at && *at == '\n' ? at + 1 : NULL;
    }
    CHECK(at && at == text.data + text.size);
}

static void test_whatever_is_wrong_is_refused(void) {
    struct error err = {0};
    size_t size = 0;
    AUTO(text_freep) char *data = read_made("seq 1 300 | gzip -n", &size);
    for (size_t cut = 0; cut < size; cut++) {
        AUTO(buffer_release) struct buffer text;
        CHECK_INT(unpack(data, cut, 1 << 20, &text, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
    for (size_t at = 0; at < size; at++) {
        if (at >= 3 && at < 10) {
            continue; /* flags, time, system: they do not change the content */
        }
        AUTO(buffer_release) struct buffer text;
        data[at] ^= 0x10;
        CHECK_INT(unpack(data, size, 1 << 20, &text, &err), -1);
        data[at] ^= 0x10;
    }
    AUTO(text_freep) char *more = x_malloc(size + 1);
    memcpy(more, data, size);
    more[size] = 'x';
    AUTO(buffer_release) struct buffer text;
    CHECK_INT(unpack(more, size + 1, 1 << 20, &text, &err), -1);
}

static void test_what_unpacks_to_too_much_ends(void) {
    struct error err = {0};
    size_t size = 0;
    AUTO(text_freep) char *data = read_made("head -c 50000000 /dev/zero | gzip", &size);
    AUTO(buffer_release) struct buffer text;
    CHECK_INT(unpack(data, size, 1 << 20, &text, &err), -1);
    CHECK(strstr(err.text, "more than 1048576 bytes unpacked"));
}

int main(void) {
    fixtures_start("gzip");
    TEST(test_what_gzip_packs_comes_back);
    TEST(test_whatever_is_wrong_is_refused);
    TEST(test_what_unpacks_to_too_much_ends);
    return TEST_END();
}
