// SPDX-License-Identifier: Apache-2.0
/* outputs.jsonl, result.json, and what a verification finds. */
#include "agent/result/verify.h"

#include "lib/digest.h"
#include "tests/unit/agent/capabilities.h"
#include "tests/unit/agent/data/tries.h"

#include <sys/stat.h>

static void put(struct store *store, const char *name, const char *text) {
    struct error err = {0};
    CHECK_OK(store_put(store, name, text, strlen(text), STORE_REPLACE, &err), &err);
}

static json_t *entry_of(const char *name, const char *text) {
    char hex[65];
    digest_sha256(text, strlen(text), hex);
    return result_file_entry(name, (int64_t)strlen(text), hex);
}

static void test_lines_are_read_as_they_were_written(void) {
    static const char *const names[] = {"a.json", "deep/\xc3\xa4 \"b\".json", "z\\.json"};
    struct error err = {0};
    AUTO(store_freep) struct store *output = open_output("out/lines");
    AUTO(output_lines_freep) struct output_lines_writer *writer = NULL;
    struct output_lines_sum sum;
    char hex[65];
    digest_sha256("x", 1, hex);
    CHECK_OK(output_lines_begin(output, "l.jsonl", &writer, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CHECK_OK(output_lines_add(writer, names[i], (int64_t)i, hex, &err), &err);
    }
    CHECK_OK(output_lines_end(TAKE(writer), &sum, &err), &err);
    CHECK_INT(sum.count, 3);
    CHECK_INT(sum.files_bytes, 3);
    struct store_info info;
    CHECK_OK(store_stat(output, "l.jsonl", &info, &err), &err);
    CHECK_INT(info.size_bytes, sum.hash.size_bytes);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct output_line line;
        AUTO(buffer_release) struct buffer text;
        buffer_init(&text, OUTPUT_LINE_MAX);
        CHECK_OK(output_line_format(names[i], 7, hex, &text, &err), &err);
        CHECK_OK(output_line_parse(text.data, text.size - 1, &line, &err), &err);
        CHECK_STR(line.name, names[i]);
        CHECK_INT(line.size_bytes, 7);
        CHECK_STR(line.sha256, hex);
    }
}

static void test_lines_that_are_none_are_refused(void) {
    static const char hash[] = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    static const char *const names[] = {
        "", "/a", "a/", "a//b", "../a", "a/../b", ".", ".windlass/x", "a/.windlass-tmp-1"};
    static const char *const lines[] = {"",
                                        "{}",
                                        "[\"a\",1]",
                                        "[\"a\",-1,\"%s\"]",
                                        "[\"a\",1.0,\"%s\"]",
                                        "[\"a\",1,\"%sa\"]",
                                        "[\"a\",1,\"9F86\"]",
                                        "[\"a\",1,\"%s\",1]",
                                        "[1,1,\"%s\"]",
                                        "[\"a\",1,\"%s\"] x"};
    struct error err = {0};
    struct output_line line;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(text_freep) char *text = x_printf("[\"%s\",1,\"%s\"]", names[i], hash);
        CHECK_INT(output_line_parse(text, strlen(text), &line, &err), -1);
        CHECK(!output_line_is_name(names[i]));
        err = (struct error){0};
    }
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char text[256];
        const char *at = strstr(lines[i], "%s");
        snprintf(text, sizeof text, "%.*s%s%s", at ? (int)(at - lines[i]) : 256, lines[i],
                 at ? hash : "", at ? at + 2 : "");
        CHECK_INT(output_line_parse(text, strlen(text), &line, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        err = (struct error){0};
    }
}

/* ---- verifying ------------------------------------------------------------------------------ */

/* An output of two listed files and one row file; the result names them. */
static json_t *make_output(struct store *output) {
    struct error err = {0};
    struct output_lines_writer *writer = NULL;
    struct output_lines_sum sum;
    char hex[65];
    static const char *const folders[] = {"deep/", "logs/", "zz/"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CHECK_OK(store_clear(output, folders[i], &err), &err);
    }
    CHECK_OK(store_remove(output, "a", &err), &err);
    CHECK_OK(store_remove(output, "logs2", &err), &err);
    put(output, "rows.txt", "a\nb\n");
    put(output, "summary.json", "{}");
    put(output, "deep/a.json", "1");
    put(output, "deep/b.json", "22");
    put(output, "logs/w-0", "said");
    put(output, ".windlass/owner", "{}");
    CHECK_OK(output_lines_begin(output, OUTPUT_LINES_NAME, &writer, &err), &err);
    digest_sha256("22", 2, hex);
    CHECK_OK(output_lines_add(writer, "deep/b.json", 2, hex, &err), &err);
    digest_sha256("1", 1, hex);
    CHECK_OK(output_lines_add(writer, "deep/a.json", 1, hex, &err), &err);
    CHECK_OK(output_lines_end(writer, &sum, &err), &err);
    json_t *list = result_file_entry(OUTPUT_LINES_NAME, sum.hash.size_bytes, sum.hash.sha256);
    json_object_set_new(list, "files", json_integer(sum.count));
    json_object_set_new(list, "fileBytes", json_integer(sum.files_bytes));
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:[o], s:[o], s:o, s:[s]}", "windlass", 1, "kind",
                     "BatchScore", "name", "j", "run", RUN, "completed", "2026-11-23T00:00:00Z",
                     "outputs", entry_of("rows.txt", "a\nb\n"), "reports",
                     entry_of("summary.json", "{}"), "list", list, "excluded", "logs");
}

/* "changed a, extra b" */
static char *faults_of(struct store *output, const json_t *result) {
    struct error err = {0};
    AUTO(store_freep) struct store *scratch = open_output("out/scratch");
    AUTO(verify_report_release) struct verify_report report = {0};
    struct verify_options options = {.output = output, .scratch = scratch, .result = result};
    char *text = x_strdup("");
    if (verify_output(&options, &report, &err) < 0) {
        free(text);
        return x_strdup(err.text);
    }
    for (int i = 0; i < VERIFY_FAULT_COUNT; i++) {
        CHECK_INT(json_array_size(report.names[i]), report.counts[i]);
        for (size_t n = 0; n < json_array_size(report.names[i]); n++) {
            char *more = x_printf("%s%s%s %s", text, *text ? ", " : "", verify_fault_names[i],
                                  json_string_value(json_array_get(report.names[i], n)));
            free(text);
            text = more;
        }
    }
    return text;
}

/* A start of the training that began after the one whose result this is. */
static void test_a_newer_start_is_found(void) {
    static const struct {
        int64_t generation;
        const char *claim, *faults;
    } rows[] = {
        {3, NULL, ""},           {3, "000000000003", ""},
        {4, "000000000004", ""}, {3, "000000000004", "newer .windlass/" RUN "/claim/000000000004"},
        {0, "000000000005", ""}, /* of a release without the field */
        {5, "00000000000x", ""}, {99, "000000000100", "newer .windlass/" RUN "/claim/000000000100"},
    };
    AUTO(store_freep) struct store *output = open_output("out/begun");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *result = make_output(output);
        AUTO(text_freep)
        char *claim = x_printf(".windlass/" RUN "/claim/%s", rows[i].claim ? rows[i].claim : "x");
        if (rows[i].claim) {
            put(output, claim, "host\n");
        }
        if (rows[i].generation) {
            json_object_set_new(result, "generation", json_integer(rows[i].generation));
        }
        AUTO(text_freep) char *faults = faults_of(output, result);
        CHECK_STR(faults, rows[i].faults);
    }
}

static void test_what_is_wrong_with_an_output_is_found(void) {
    static const struct {
        const char *name, *text; /* what is written; text NULL: removed */
        const char *faults;
    } rows[] = {
        {"logs/w-1", "said", ""},
        {"logs2", "said", "extra logs2"},
        {".windlass/more", "x", ""},
        {RESULT_NAME, "{}", ""},
        {"rows.txt", "a\nc\n", "changed rows.txt"},
        {"rows.txt", "a\nb\nc\n", "changed rows.txt"},
        {"rows.txt", NULL, "missing rows.txt"},
        {"summary.json", "{ }", "changed summary.json"},
        {"deep/a.json", "2", "changed deep/a.json"},
        {"deep/b.json", NULL, "missing deep/b.json"},
        {"deep/c.json", "3", "extra deep/c.json"},
        {"deep/a", "3", "extra deep/a"},
        {"a", "", "extra a"},
        {"zz/z", "", "extra zz/z"},
        {OUTPUT_LINES_NAME, "", "changed outputs.jsonl, extra deep/a.json, extra deep/b.json"},
        {OUTPUT_LINES_NAME, NULL, "missing outputs.jsonl, extra deep/a.json, extra deep/b.json"},
    };
    AUTO(store_freep) struct store *output = open_output("out/verified");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *result = make_output(output);
        struct error err = {0};
        AUTO(text_freep) char *before = faults_of(output, result);
        CHECK_STR(before, "");
        if (rows[i].text) {
            put(output, rows[i].name, rows[i].text);
        } else {
            CHECK_OK(store_remove(output, rows[i].name, &err), &err);
        }
        AUTO(text_freep) char *faults = faults_of(output, result);
        CHECK_STR(faults, rows[i].faults);
    }
}

/* A list whose own hash is right may still name a file twice. */
static void test_a_file_that_is_named_twice_is_found(void) {
    AUTO(store_freep) struct store *output = open_output("out/twice");
    AUTO(tree_freep) json_t *result = make_output(output);
    json_array_append_new(json_object_get(result, "outputs"), entry_of("deep/a.json", "1"));
    AUTO(text_freep) char *faults = faults_of(output, result);
    CHECK_STR(faults, "repeated deep/a.json");
}

/* Nothing is known about the bytes of a file that may not be read. */
static void test_a_file_that_may_not_be_read_is_not_a_changed_one(void) {
    AUTO(store_freep) struct store *output = open_output("out/denied");
    AUTO(tree_freep) json_t *result = make_output(output);
    AUTO(text_freep) char *rows = file_join(fixtures_out, "denied/rows.txt");
    AUTO(text_freep) char *deep = file_join(fixtures_out, "denied/deep/a.json");
    CHECK(chmod(rows, 0) == 0 && chmod(deep, 0) == 0);
    uint32_t before = capabilities_drop(CAPABILITIES_OF_FILES);
    AUTO(text_freep) char *faults = faults_of(output, result);
    capabilities_set(before);
    CHECK_STR(faults, "denied rows.txt, denied deep/a.json");
    CHECK(chmod(rows, 0600) == 0 && chmod(deep, 0600) == 0);
}

/* Its files are not those of another run. */
static void test_a_list_that_may_not_be_read_makes_no_file_extra(void) {
    AUTO(store_freep) struct store *output = open_output("out/hidden");
    AUTO(tree_freep) json_t *result = make_output(output);
    AUTO(text_freep) char *list = file_join(fixtures_out, "hidden/" OUTPUT_LINES_NAME);
    CHECK(chmod(list, 0) == 0);
    uint32_t before = capabilities_drop(CAPABILITIES_OF_FILES);
    AUTO(text_freep) char *faults = faults_of(output, result);
    capabilities_set(before);
    CHECK_STR(faults, "denied " OUTPUT_LINES_NAME);
    CHECK(chmod(list, 0600) == 0);
}

/* Neither a pipe nor a link out of the folder is opened. */
static void test_pipes_and_links_are_not_followed(void) {
    AUTO(store_freep) struct store *output = open_output("out/odd");
    AUTO(tree_freep) json_t *result = make_output(output);
    AUTO(text_freep) char *rows = file_join(fixtures_out, "odd/rows.txt");
    AUTO(text_freep) char *link = file_join(fixtures_out, "odd/deep/a.json");
    CHECK(unlink(rows) == 0 && mkfifo(rows, 0600) == 0);
    CHECK(unlink(link) == 0 && symlink("/etc/passwd", link) == 0);
    AUTO(text_freep) char *faults = faults_of(output, result);
    CHECK_STR(faults, "changed rows.txt, changed deep/a.json");
    CHECK(unlink(rows) == 0 && unlink(link) == 0);
}

static void test_results_of_other_formats_are_refused(void) {
    static const struct {
        const char *field, *value, *says; /* value: JSON; NULL: removed */
    } rows[] = {
        {"windlass", "2", "its format (field windlass) is 2, this program reads 1"},
        {"windlass", NULL, "its format (field windlass) is -1, this program reads 1"},
        {"run", "1", "run is missing"},
        {"outputs", NULL, "outputs is not a list of up to 4096 files"},
        {"outputs", "[{}]", "outputs[0] is not a file's name, bytes and sha256"},
        {"reports", "[{\"name\":\"../a\",\"bytes\":1}]",
         "reports[0] is not a file's name, bytes and sha256"},
        {"list", "{}", "list is not a file's name, bytes, sha256, files and fileBytes"},
        {"excluded", "[\"\"]", "excluded[0] is not the name of a file or folder"},
    };
    AUTO(store_freep) struct store *output = open_output("out/formats");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *result = make_output(output);
        AUTO(tree_freep) json_t *parsed = NULL;
        struct error err = {0};
        if (rows[i].value) {
            json_object_set_new(result, rows[i].field,
                                json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        } else {
            json_object_del(result, rows[i].field);
        }
        AUTO(text_freep) char *text = tree_canonical(result);
        CHECK_INT(result_file_parse(text, strlen(text), &parsed, &err), -1);
        CHECK_STR(err.text, rows[i].says);
    }
}

/* Neither is what they say believed, nor is a run done by them. */
static void test_counts_that_contradict_themselves_are_refused(void) {
    static const struct {
        const char *counts, *says; /* says: NULL: as Windlass writes them */
    } rows[] = {
        {"{'items': {'total': 6, 'done': 6, 'failed': 0, 'retried': 0}}", NULL},
        {"{'items': {'total': 0, 'done': 0, 'failed': 0, 'retried': 0}}", NULL},
        {"{'items': {'total': 6, 'done': 4, 'failed': 2, 'retried': 9},"
         " 'miniBatches': {'total': 3, 'done': 2, 'failed': 1, 'retried': 5}}",
         NULL},
        {"{'items': {'total': 6, 'done': 5, 'failed': 1, 'retried': 0, 'kept': 5, 'leftOut': 9},"
         " 'miniBatches': {'total': 1, 'done': 0, 'failed': 1, 'retried': 0}}",
         NULL},
        {"{'steps': 12, 'epochs': 3, 'badSamples': 20}", NULL},
        {"{'items': {'total': 6, 'done': 7, 'failed': 0, 'retried': 0}}",
         "counts.items contradict themselves: 7 done and 0 failed of 6"},
        {"{'items': {'total': 6, 'done': 4, 'failed': 3, 'retried': 0}}",
         "counts.items contradict themselves: 4 done and 3 failed of 6"},
        {"{'items': {'total': 9223372036854775807, 'done': 9223372036854775807, 'failed': 1,"
         " 'retried': 0}}",
         "counts.items contradict themselves: 9223372036854775807 done and 1 failed of "
         "9223372036854775807"},
        {"{'items': {'total': 6, 'done': 4, 'failed': 0, 'retried': 0, 'kept': 5}}",
         "counts.items.kept is 5, expected at most the 4 that are done"},
        {"{'items': {'total': 6, 'done': 6, 'failed': 0, 'retried': 0},"
         " 'miniBatches': {'total': 1, 'done': 2, 'failed': 0, 'retried': 0}}",
         "counts.miniBatches contradict themselves: 2 done and 0 failed of 1"},
        {"{'items': {'total': 6, 'done': -1, 'failed': 0, 'retried': 0}}",
         "counts.items.done is not a number of 0 or more"},
        {"{'items': {'done': 0, 'failed': 0, 'retried': 0}}",
         "counts.items.total is not a number of 0 or more"},
        {"{'items': {'total': 6, 'done': 6, 'failed': 0, 'retried': 0, 'leftOut': 'x'}}",
         "counts.items.leftOut is not a number of 0 or more"},
    };
    AUTO(store_freep) struct store *output = open_output("out/counts");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *result = make_output(output);
        AUTO(tree_freep) json_t *parsed = NULL;
        AUTO(text_freep) char *counts = x_strdup(rows[i].counts);
        struct error err = {0};
        for (char *at = counts; *at; at++) {
            *at = *at == '\'' ? '"' : *at;
        }
        json_object_set_new(result, "counts", json_loads(counts, 0, NULL));
        CHECK(json_object_get(result, "counts"));
        AUTO(text_freep) char *text = tree_canonical(result);
        CHECK_INT(result_file_parse(text, strlen(text), &parsed, &err), rows[i].says ? -1 : 0);
        CHECK_STR(err.text, rows[i].says ? rows[i].says : "");
        CHECK_INT(result_file_completes(text, strlen(text), RUN, "{}", 2), !rows[i].says);
    }
}

/* A summary belongs to the result that names its bytes, of the same run. */
static void test_a_result_completes_one_summary(void) {
    AUTO(store_freep) struct store *output = open_output("out/complete");
    AUTO(tree_freep) json_t *result = make_output(output);
    AUTO(text_freep) char *text = tree_canonical(result);
    CHECK(result_file_completes(text, strlen(text), RUN, "{}", 2));
    CHECK(!result_file_completes(text, strlen(text), RUN, "{ }", 3));
    CHECK(!result_file_completes(text, strlen(text), "fedcba9876543210", "{}", 2));
    CHECK(!result_file_completes(text, strlen(text) - 1, RUN, "{}", 2));
}

int main(void) {
    fixtures_start("test_verify");
    TEST(test_lines_are_read_as_they_were_written);
    TEST(test_lines_that_are_none_are_refused);
    TEST(test_a_newer_start_is_found);
    TEST(test_what_is_wrong_with_an_output_is_found);
    TEST(test_a_file_that_is_named_twice_is_found);
    TEST(test_a_file_that_may_not_be_read_is_not_a_changed_one);
    TEST(test_a_list_that_may_not_be_read_makes_no_file_extra);
    TEST(test_pipes_and_links_are_not_followed);
    TEST(test_results_of_other_formats_are_refused);
    TEST(test_counts_that_contradict_themselves_are_refused);
    TEST(test_a_result_completes_one_summary);
    return TEST_END();
}
