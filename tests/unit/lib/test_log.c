// SPDX-License-Identifier: Apache-2.0
#include "lib/log.h"

#include "lib/base.h"
#include "lib/time/clock.h"
#include "lib/tree.h"
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
        {"\x1b[2J\xc2\x9b\xe2\x80\xae\xff\xc3\xa9", "look failed job=\" [2J  \?\?\?\?\xc3\xa9\"\n"},
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

/* The one line that was logged, as an object; checked to be one line within the limit. */
static json_t *caught_object(void) {
    catch_end();
    size_t length = strlen(seen);
    CHECK(length > 0 && length <= LOG_LINE_MAX);
    CHECK(strchr(seen, '\n') == seen + length - 1);
    json_t *tree = json_loads(seen, JSON_REJECT_DUPLICATES, NULL);
    CHECK(tree);
    return tree;
}

static void test_json(void) {
    log_set_level(LOG_INFO);
    log_set_format(LOG_JSON);
    catch_begin();
    log_pairs(LOG_WARNING, "reconcile failed", "job", "BatchScore ns/one", "error",
              "a \"b\"\n\x01 \\ \xc3\xa4\xc2\x9b\xe2\x80\xae \xff", "absent", NULL, NULL);
    AUTO(tree_freep) json_t *tree = caught_object();
    CHECK_STR(tree_text(tree, "level", ""), "warning");
    CHECK_STR(tree_text(tree, "message", ""), "reconcile failed");
    CHECK_STR(tree_text(tree, "namespace", ""), "ns");
    CHECK_STR(tree_text(tree, "name", ""), "one");
    CHECK_STR(tree_text(tree, "job", ""), "BatchScore ns/one");
    CHECK_STR(tree_text(tree, "error", ""),
              "a \"b\"\n\x01 \\ \xc3\xa4\xc2\x9b\xe2\x80\xae \xef\xbf\xbd");
    CHECK(!strstr(seen, "\xc2\x9b") && !strstr(seen, "\xe2\x80\xae")); /* escaped */
    CHECK(!json_object_get(tree, "absent"));
    /* RFC 3339 with milliseconds, of now. */
    const char *time = tree_text(tree, "time", "");
    CHECK_INT(strlen(time), 24);
    AUTO(text_freep) char *second = x_printf("%.19sZ", time);
    CHECK(llabs(clock_parse(second) - clock_wall_ms()) < 60000);
    CHECK(time[19] == '.' && time[23] == 'Z');

    log_set_job("mine");
    catch_begin();
    log_event(LOG_INFO, "lease %d\nof \"%s\"", 7, "x");
    AUTO(tree_freep) json_t *event = caught_object();
    CHECK_STR(tree_text(event, "message", ""), "lease 7\nof \"x\"");
    CHECK_STR(tree_text(event, "name", ""), "mine");
    log_set_job(NULL);

    char longer[5000];
    memset(longer, '"', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    catch_begin();
    log_pairs(LOG_ERROR, longer, "job", longer, "error", longer, "more", longer, NULL);
    AUTO(tree_freep) json_t *cut = caught_object();
    CHECK(strlen(tree_text(cut, "message", "")) > 500);
    CHECK(strlen(tree_text(cut, "error", "")) > 100); /* a long message leaves room */
    log_set_format(LOG_TEXT);
}

static void test_format_names(void) {
    enum log_format format = LOG_TEXT;
    CHECK(log_format_parse("json", &format));
    CHECK_INT(format, LOG_JSON);
    CHECK(log_format_parse("text", &format));
    CHECK_INT(format, LOG_TEXT);
    CHECK(!log_format_parse("xml", &format));
}

int main(void) {
    TEST(test_values_are_quoted_where_needed);
    TEST(test_long_values_are_cut_and_closed);
    TEST(test_levels);
    TEST(test_json);
    TEST(test_format_names);
    return TEST_END();
}
