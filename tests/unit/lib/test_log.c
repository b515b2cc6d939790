// SPDX-License-Identifier: Apache-2.0
#include "lib/log.h"

#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

/* The function's output on standard error, without time and level. */
static char seen[4096];
static FILE *catch;
static int saved_fd;

static void catch_begin(void) {
    catch = tmpfile();
    saved_fd = dup(STDERR_FILENO);
    dup2(fileno(catch), STDERR_FILENO);
}

static const char *catch_end(void) {
    dup2(saved_fd, STDERR_FILENO);
    close(saved_fd);
    rewind(catch);
    size_t size = fread(seen, 1, sizeof seen - 1, catch);
    fclose(catch);
    seen[size] = 0;
    const char *at = strchr(seen, ' ');
    at = at ? strchr(at + 1, ' ') : NULL;
    return at ? at + 1 : seen;
}

static void test_values_are_quoted_where_needed(void) {
    static const struct {
        const char *value, *line;
    } rows[] = {
        {"default/one", "look failed job=default/one\n"},
        {"two words", "look failed job=\"two words\"\n"},
        {"", "look failed job=\"\"\n"},
        {"a \"b\" \\", "look failed job=\"a \\\"b\\\" \\\\\"\n"},
        {"a=b", "look failed job=\"a=b\"\n"},
        {"line\nbreak", "look failed job=\"line break\"\n"},
        {NULL, "look failed\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        catch_begin();
        log_pairs(LOG_WARNING, "look failed", "job", rows[i].value, NULL);
        CHECK_STR(catch_end(), rows[i].line);
    }
    CHECK(strstr(seen, "Z WARNING look failed"));
}

static void test_long_values_are_cut_and_closed(void) {
    char longer[5000];
    memset(longer, '"', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    catch_begin();
    log_pairs(LOG_INFO, "look", "one", longer, "two", longer, NULL);
    const char *line = catch_end();
    size_t length = strlen(line);
    CHECK(length > 1000 && length < 2048);
    CHECK(line[length - 1] == '\n' && line[length - 2] == '"');
}

static void test_levels(void) {
    enum log_level level = LOG_INFO;
    CHECK(log_level_parse("debug", &level));
    CHECK_INT(level, LOG_DEBUG);
    CHECK(!log_level_parse("verbose", &level));
    catch_begin();
    log_pairs(LOG_DEBUG, "detail", NULL);
    CHECK_STR(catch_end(), "");
    log_set_level(LOG_DEBUG);
    catch_begin();
    log_pairs(LOG_DEBUG, "detail", "n", "1", NULL);
    CHECK_STR(catch_end(), "detail n=1\n");
}

int main(void) {
    TEST(test_values_are_quoted_where_needed);
    TEST(test_long_values_are_cut_and_closed);
    TEST(test_levels);
    return TEST_END();
}
