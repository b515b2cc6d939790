// SPDX-License-Identifier: Apache-2.0
/* Results as rows, as nothing, and in the input kind's own form. */
#include "agent/data/input/sink.h"

#include "tests/unit/agent/data/fixtures.h"
#include "tests/unit/agent/data/tries.h"

static json_t *spec_of(const char *mode) {
    return json_pack("{s:{s:{s:s}},s:{s:s,s:s}}", "input", "files", "path", "photos", "output",
                     "path", "out/sink", "mode", mode);
}

static const struct media *media_of(const json_t *spec) {
    const struct media *media = NULL;
    struct error err = {0};
    CHECK_OK(media_find(spec, &media, &err), &err);
    return media;
}

static void check_rows(const struct result *results, size_t count, const char *wanted) {
    struct error err = {0};
    AUTO(store_freep) struct store *output = open_output("out/sink");
    AUTO(tree_freep) json_t *spec = spec_of("AppendRow");
    AUTO(staged_output_freep) struct staged_output *staged = staged_output_new(output, "try", true);
    struct sink *sink = NULL;
    CHECK_OK(sink_open(spec, media_of(spec), NULL, staged, &sink, &err), &err);
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(sink_add(sink, &results[i], &err), &err);
    }
    CHECK_OK(sink_finish(sink, &err), &err);
    sink_free(sink);
    CHECK_OK(staged_output_close(staged, &err), &err);
    struct part part = staged_output_part(staged);
    AUTO(text_freep) char *seen = x_strndup(part.bytes, (size_t)part.size_bytes);
    CHECK_STR(seen, wanted);
}

static struct result json_result(const char *json) {
    return (struct result){.name = "a", .json = json, .json_size = strlen(json)};
}

static void test_a_row_is_a_line(void) {
    static const char *const rows[][2] = {
        {"\"cat\"", "cat\n"},
        {"\"\"", "\n"},
        {"\"na\\u00efve \\\"cat\\\"\"", "na\xC3\xAFve \"cat\"\n"},
        {"\"two\\nlines\"", "\"two\\nlines\"\n"},
        {"\"nul\\u0000\"", "\"nul\\u0000\"\n"},
        {"\"half \\ud800\"", "\"half \\ud800\"\n"},
        {"0.10", "0.10\n"},
        {"123456789012345678901234567890", "123456789012345678901234567890\n"},
        {"null", "null\n"},
        {"{ \"size\" : 2 ,\t\"a b\": \" x \\\" y \" , \"l\": [ 1 , 2 ] }",
         "{\"size\":2,\"a b\":\" x \\\" y \",\"l\":[1,2]}\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct result result = json_result(rows[i][0]);
        check_rows(&result, 1, rows[i][1]);
    }
    json_t *record = json_pack("{s:s,s:[]}", "file", "a.jpg", "classes");
    struct result results[] = {
        json_result("1"), {.name = "a.jpg", .record = record}, json_result("[2]")};
    check_rows(results, ARRAY_LEN(results), "1\n{\"file\":\"a.jpg\",\"classes\":[]}\n[2]\n");
    json_decref(record);
}

static void test_a_picture_is_no_row(void) {
    struct error err = {0};
    struct picture picture = {0};
    struct result result = {.name = "a.jpg", .picture = &picture};
    AUTO(tree_freep) json_t *spec = spec_of("AppendRow");
    AUTO(store_freep) struct store *output = open_output("out/sink");
    AUTO(staged_output_freep) struct staged_output *staged = staged_output_new(output, "try", true);
    struct sink *sink = NULL;
    CHECK_OK(sink_open(spec, media_of(spec), NULL, staged, &sink, &err), &err);
    CHECK_INT(sink_add(sink, &result, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    sink_free(sink);
}

static void test_the_mode_says_the_form(void) {
    static const struct {
        const char *mode;
        enum sink_form form;
    } rows[] = {{"PerFile", SINK_PACKS}, {"AppendRow", SINK_ROWS}, {"SummaryOnly", SINK_NOTHING}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *spec = spec_of(rows[i].mode);
        CHECK_INT(sink_read_form(spec, media_of(spec)), rows[i].form);
    }
    AUTO(tree_freep) json_t *film = json_pack("{s:{s:{}}}", "input", "video");
    CHECK_INT(sink_read_form(film, media_of(film)), SINK_PARTS);
}

static void test_nothing_is_kept_of_a_summary(void) {
    struct error err = {0};
    struct result result = json_result("\"cat\"");
    AUTO(tree_freep) json_t *spec = spec_of("SummaryOnly");
    AUTO(store_freep) struct store *output = open_output("out/sink");
    AUTO(staged_output_freep) struct staged_output *staged = staged_output_new(output, "try", true);
    struct sink *sink = NULL;
    CHECK_OK(sink_open(spec, media_of(spec), NULL, staged, &sink, &err), &err);
    CHECK_OK(sink_add(sink, &result, &err), &err);
    CHECK_OK(sink_finish(sink, &err), &err);
    sink_free(sink);
    CHECK_OK(staged_output_close(staged, &err), &err);
    CHECK_INT(staged_output_part(staged).size_bytes, 0);
}

int main(void) {
    fixtures_start("sink");
    TEST(test_a_row_is_a_line);
    TEST(test_a_picture_is_no_row);
    TEST(test_the_mode_says_the_form);
    TEST(test_nothing_is_kept_of_a_summary);
    return TEST_END();
}
