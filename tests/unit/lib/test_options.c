// SPDX-License-Identifier: Apache-2.0
#include "lib/options.h"

#include "tests/test.h"

static bool keep;
static int64_t workers;
static const char *file;
static struct option_list volumes, words;
static const struct option table[] = {
    {"keep", 0, OPTION_FLAG, NULL, "Keep.", &keep},
    {"workers", 'w', OPTION_INTEGER, "N", "How many.", &workers},
    {"file", 'f', OPTION_TEXT, "FILE", "Which.", &file},
    {"volume", 0, OPTION_LIST, "NAME=DIR", "Where.", &volumes},
    {NULL, 0, OPTION_FLAG, NULL, NULL, NULL},
};

static int parse(int count, char **arguments, struct error *err) {
    bool help;
    keep = false;
    workers = 0;
    file = NULL;
    volumes.count = words.count = 0;
    return options_parse(count, arguments, table, &words, &help, err);
}

static void test_every_form(void) {
    char lines[][16] = {"run",      "-fa.yaml", "--workers=4",  "--keep", "word",
                        "--volume", "x=y",      "--volume=z=w", "--",     "--not-flag"};
    char *arguments[ARRAY_LEN(lines)];
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        arguments[i] = lines[i];
    }
    struct error err = {0};
    CHECK_OK(parse((int)ARRAY_LEN(arguments), arguments, &err), &err);
    CHECK(keep);
    CHECK_INT(workers, 4);
    CHECK_STR(file, "a.yaml");
    CHECK_INT(volumes.count, 2);
    CHECK_STR(volumes.values[1], "z=w");
    CHECK_INT(words.count, 2);
    CHECK_STR(words.values[1], "--not-flag");
}

static void test_mistakes_are_named(void) {
    struct {
        char argument[40];
        const char *part;
    } rows[] = {{"--wrokers", "--wrokers"}, {"--workers=x", "'x'"},
                {"--keep=yes", "--keep"},   {"--file", "FILE"},
                {"-w", "missing"},          {"--workers=99999999999999999999", "whole"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        char program[] = "run", *arguments[] = {program, rows[i].argument};
        CHECK_INT(parse(2, arguments, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i].part) != NULL);
    }
}

int main(void) {
    TEST(test_every_form);
    TEST(test_mistakes_are_named);
    return TEST_END();
}
