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
    static const struct command_help help = {.usage = "run WORD", .words_min = 0, .words_max = 2};
    keep = false;
    workers = 0;
    file = NULL;
    volumes.count = words.count = 0;
    return options_read(count, arguments, &help, table, &words, err);
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

static void test_words_are_counted(void) {
    static const struct command_help help = {.usage = "run A B", .words_min = 1, .words_max = 2};
    char run[] = "run", a[] = "a", b[] = "b", c[] = "see", *arguments[] = {run, a, b, c};
    for (int count = 1; count <= 4; count++) {
        struct error err = {0};
        words.count = 0;
        bool fine = count == 2 || count == 3;
        CHECK_INT(options_read(count, arguments, &help, table, &words, &err), fine ? 0 : -1);
        CHECK(fine || strstr(err.text, "run A B"));
        CHECK(count < 4 || strstr(err.text, "see"));
    }
}

/* A metric's value may be any number. */
static void test_numbers_are_words(void) {
    static const struct option with_letter[] = {{"file", 'i', OPTION_TEXT, "FILE", "", &file},
                                                {.name = NULL}};
    static const struct command_help help = {.usage = "run A", .words_min = 0, .words_max = 1};
    char rows[][12] = {"-0.5", "-.5", "-1e-3", "-inf", "-nan", "-Infinity"};
    char run[] = "run", none[] = "-infinite";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        char *arguments[] = {run, rows[i]};
        CHECK_OK(parse(2, arguments, &err), &err);
        CHECK(words.count == 1 && strcmp(words.values[0], rows[i]) == 0);
    }
    struct error err = {0};
    char *arguments[] = {run, none};
    CHECK_INT(parse(2, arguments, &err), -1);
    arguments[1] = rows[3];
    words.count = 0;
    CHECK_OK(options_read(2, arguments, &help, with_letter, &words, &err), &err);
    CHECK_STR(file, "nf"); /* like the value of a flag */
}

int main(void) {
    TEST(test_every_form);
    TEST(test_mistakes_are_named);
    TEST(test_words_are_counted);
    TEST(test_numbers_are_words);
    return TEST_END();
}
