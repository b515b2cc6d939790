// SPDX-License-Identifier: Apache-2.0
/* The lines of a manifest below its errors, those of manifest_show and manifest_cover, too. */
#include "operator/manifest_excerpt.h"

#include "operator/manifest.h"
#include "tests/test.h"

#include <stdlib.h>

/* The excerpt below an error; the caller frees. */
static char *excerpt(const char *text, const char *const errors[2]) {
    struct error err = {0};
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    CHECK_OK(manifest_parse("m.yaml", text, strlen(text), &manifest, &err), &err);
    for (size_t i = 0; i < 2 && errors[i]; i++) {
        manifest_cover(manifest, &manifest->documents[0], errors[i]);
    }
    char *shown = manifest_show(manifest, &manifest->documents[0], errors[0]);
    return shown ? shown : x_strdup("");
}

static void test_excerpts(void) {
    static const struct {
        const char *text, *errors[2], *wanted;
    } rows[] = {
        {"a: 1\nb: {c: data/out, d: PerFil}\n", /* the value */
         {"b.d: \"PerFil\" is not one of: PerFile"},
         "     2 | b: {c: data/out, d: PerFil}\n       |                     ^\n"},
        {"a: 1\nb:\n  cc: 2", /* an enclosing field */
         {"b.d: is missing"},
         "     2 | b:\n       | ^\n"},
        {"b:\r\n  wrokers: 2\r\n", /* the name; its value may be secret */
         {"b.wrokers: unknown field, did you mean workers?"},
         "     2 |   wrokers: ...\n       |   ^\n"},
        {"{evn: {T: s3cret}, b: 0}", /* also below another error of that line */
         {"b: must be a string", "evn: unknown field"},
         "     1 | {evn: ...\n"},
        {"{t: \"\xc3\xa9\t\", l: 7}", /* characters are counted, a tab is one space */
         {"l: must be a string"},
         "     1 | {t: \"\xc3\xa9 \", l: 7}\n       |              ^\n"},
        {"{evn: {T: s3cret,\n U: s3cret}, b: 0}", /* or of the next one */
         {"b: must be a string", "evn: unknown field"},
         "     2 |  U: ...\n"},
        {"{evn: {T: s3cret,\n U: \"s3\n  cret\"}, b: 0}",
         {"b: must be a string", "evn: unknown field"},
         "     3 | ...\n"},
        {"env: [{name: T, value: \"a\n  b\", vlaue: c}]", /* the end of a secret of two lines */
         {"env[0].vlaue: is wrong"},
         "     2 | ...\n"},
        {"env:\n  - name: T\n    value: s3cret\n    valueFrom: {}", /* its name is not one */
         {"env[0].name: is wrong"},
         "     2 |   - name: T\n       |           ^\n"},
        {"env:\n  - value: |\n      s3cret\n    name: T", /* a block ends before the next line */
         {"env[0].name: is wrong"},
         "     4 |     name: T\n       |           ^\n"},
        {"x: &pw s3cret\nenv: [{name: T, value: *pw}]", /* copied into one */
         {"x: is wrong"},
         "     1 | x: ...\n       |    ^\n"},
        {"kind: Secret\ndata: {a: s3cret}",
         {"data.a: is wrong"},
         "     2 | data: {a: ...\n       |           ^\n"},
        {"headers: {Authorization: s3cret}",
         {"headers.Authorization: is wrong"},
         "     1 | headers: {Authorization: ...\n       |                          ^\n"},
        /* A line ends where YAML says so. */
        {"a: \"x\xe2\x80\xa8\xc2\x85 y\"\nenv: {A: s}\rb: 1\n",
         {"b: is wrong"},
         "     5 | b: 1\n       |    ^\n"},
        {"a: 1", {"nothing of it is right"}, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *seen = excerpt(rows[i].text, rows[i].errors);
        CHECK_STR(seen, rows[i].wanted);
    }
}

/* Both ends of a long line are cut, and the caret is below its column. */
static void test_long_line(void) {
    AUTO(text_freep) char *text = x_printf("{a: \"%0*d\", b: 12, c: \"%0*d\"}", 300, 0, 300, 0);
    AUTO(text_freep) char *seen = excerpt(text, (const char *const[2]){"b: is wrong"});
    const char *caret = strchr(seen, '^'), *second = strchr(seen, '\n');
    CHECK(caret && second && strlen(seen) < 250 && strstr(seen, "| ...0") &&
          strstr(seen, "0...\n"));
    CHECK(caret && second && text_starts(seen + (caret - second - 1), "12, c"));
}

/* Of a text that is not YAML no line is shown below a word of secrets. */
static void test_excerpt_of_text(void) {
    static const struct {
        const char *text, *wanted;
        size_t size;
    } rows[] = {
        {"a: 1\nkind: a: b\nenv: x\n", "     2 | kind: a: b\n", 0},
        {"env: [\nkind: a: b\n", NULL, 0},
        {"a: 1\nENV: a: b\n", NULL, 0},
        {"data:\n  a: b: c\n", NULL, 0},
        {"\xff\xfe\n\xff", NULL, 0},
        {"a\0env: 1\na: b: c\n", NULL, 17},
        {"a: 1", NULL, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t size = rows[i].size ? rows[i].size : strlen(rows[i].text);
        AUTO(text_freep)
        char *seen = manifest_excerpt_of_text(rows[i].text, size, "m.yaml", "m.yaml:2: not YAML");
        CHECK(!seen == !rows[i].wanted);
        if (seen && rows[i].wanted) {
            CHECK_STR(seen, rows[i].wanted);
        }
    }
    AUTO(text_freep) char *long_line = x_printf("%070000d", 0);
    const struct manifest_excerpt excerpt = {.line = 1, .caret = -1, .end = -1};
    CHECK(!manifest_excerpt_text(long_line, strlen(long_line), &excerpt));
    CHECK(!manifest_excerpt_of_text("a\nb", 3, "m.yaml", "m.yaml: too large"));
}

int main(void) {
    TEST(test_excerpts);
    TEST(test_long_line);
    TEST(test_excerpt_of_text);
    return TEST_END();
}
