// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/stream.h"

#include "tests/test.h"

#include <stdlib.h>

struct heard {
    char text[512];
    int stop_after; /* pieces; 0: never */
    int count;
};

static int hear(void *context, const char *text, size_t size, struct error *err) {
    struct heard *heard = context;
    size_t used = strlen(heard->text);
    snprintf(heard->text + used, sizeof heard->text - used, "%.*s|", (int)size, text);
    heard->count++;
    return heard->count == heard->stop_after ? error_set(err, ERROR_CANCELLED, "enough") : 0;
}

static void feed_in_steps(struct stream_lines *lines, const char *text, size_t step,
                          struct heard *heard, struct error *err) {
    size_t size = strlen(text);
    for (size_t at = 0; at < size && !err->kind; at += step) {
        if (stream_lines_feed(lines, text + at, MIN(step, size - at), hear, heard, err) < 0) {
            break;
        }
    }
}

/* Every text in pieces of every size: the reported events must be the same. */
static void test_lines(void) {
    static const struct {
        const char *text, *told;
        enum error_kind kind;
    } rows[] = {
        {"", "", 0},
        {"a\nbb\nccc\n", "a|bb|ccc|", 0},
        {"a\n\n\nb\n", "a|b|", 0},
        {"whole\nhal", "whole|", 0},
        {"12345678\n", "12345678|", 0},
        {"123456789\n", "", ERROR_EXHAUSTED},
        {"ok\n1234567890", "ok|", ERROR_EXHAUSTED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t step = 1; step < 12; step++) {
            struct error err = {0};
            struct heard heard = {0};
            struct stream_lines lines;
            stream_lines_init(&lines, 8);
            feed_in_steps(&lines, rows[i].text, step, &heard, &err);
            CHECK_STR(heard.text, rows[i].told);
            CHECK_INT(err.kind, rows[i].kind);
            stream_lines_release(&lines);
        }
    }
}

static void test_items(void) {
    static const struct {
        const char *text, *told, *envelope; /* NULL: refused */
    } rows[] = {
        {"{\"kind\":\"L\",\"items\":[{\"a\":1},{\"b\":[{}]}]}", "{\"a\":1}|{\"b\":[{}]}|",
         "{\"items\":[],\"kind\":\"L\"}"},
        {"{ \"items\" : [ ] , \"metadata\": {\"continue\": \"x\"} }", "",
         "{\"items\":[],\"metadata\":{\"continue\":\"x\"}}"},
        {"{\"items\":null}", "", "{\"items\":null}"},
        {"{\"a\":[1,[2]],\"items\":[{\"x\":\"]}\\\"\\\\\"}],\"z\":[]}", "{\"x\":\"]}\\\"\\\\\"}|",
         "{\"a\":[1,[2]],\"items\":[],\"z\":[]}"},
        {"{\"m\":{\"items\":[{}]},\"items\":[{\"items\":[{}]}]}", "{\"items\":[{}]}|",
         "{\"items\":[],\"m\":{\"items\":[{}]}}"},
        {"{\"v\":\"items\",\"w\":[{}]}", "", "{\"v\":\"items\",\"w\":[{}]}"},
        {"{\"items\":[1]}", "", NULL},
        {"{\"items\":[{}", "{}|", NULL},
        {"{\"items\":[]}}", "", NULL},
        {"[]", "", NULL},
        {"", "", NULL},
        {"{\"items\":[{\"long\":\"0123456789012345678901234567890\"}]}", "", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t step = 1; step < 60; step += step < 8 ? 1 : 17) {
            struct error err = {0};
            struct heard heard = {0};
            struct stream_items items;
            stream_items_init(&items, 30);
            size_t size = strlen(rows[i].text);
            int result = 0;
            for (size_t at = 0; at < size && !result; at += step) {
                result = stream_items_feed(&items, rows[i].text + at, MIN(step, size - at), hear,
                                           &heard, &err);
            }
            AUTO(tree_freep) json_t *envelope = NULL;
            result = result || stream_items_end(&items, &envelope, &err);
            CHECK_STR(heard.text, rows[i].told);
            CHECK_INT(result, rows[i].envelope ? 0 : 1);
            if (envelope) {
                AUTO(text_freep) char *text = tree_canonical(envelope);
                CHECK_STR(text, rows[i].envelope);
            }
            stream_items_release(&items);
        }
    }
}

static void test_a_piece_can_stop_the_stream(void) {
    struct error err = {0};
    struct heard heard = {.stop_after = 2};
    struct stream_lines lines;
    stream_lines_init(&lines, 100);
    CHECK_INT(stream_lines_feed(&lines, "a\nb\nc\n", 6, hear, &heard, &err), -1);
    CHECK_STR(heard.text, "a|b|");
    CHECK_STR(err.text, "enough");
    stream_lines_release(&lines);
}

static void test_events(void) {
    static const struct {
        const char *text;
        int type; /* -1: refused */
        const char *version, *object;
    } rows[] = {
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\","
         "\"managedFields\":[{}]}}}",
         STREAM_ADDED, "7", "{\"metadata\":{\"resourceVersion\":\"7\"}}"},
        /* after spec it is a user's, in a text it does not count, cut off it is not JSON */
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"managedFields\":[{\"a\":\"]\"}],"
         "\"resourceVersion\":\"7\"},\"spec\":{\"metadata\":{\"managedFields\":[1]}}}}",
         STREAM_ADDED, "7",
         "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"metadata\":{\"managedFields\":"
         "[1]}}}"},
        {"{\"type\":\"ADDED\",\"object\":{\"spec\":{\"managedFields\":[1]},\"metadata\":{"
         "\"managedFields\":[],\"resourceVersion\":\"7\"}}}",
         STREAM_ADDED, "7",
         "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"managedFields\":[1]}}"},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"annotations\":{\"a\\\"managedFields\":"
         "\"b\",\"c\":\"\\\"managedFields\\\":[\"},\"resourceVersion\":\"7\"}}}",
         STREAM_ADDED, "7",
         "{\"metadata\":{\"annotations\":{\"a\\\"managedFields\":\"b\",\"c\":"
         "\"\\\"managedFields\\\":[\"},\"resourceVersion\":\"7\"}}"},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\","
         "\"managedFields\":[{}",
         -1, NULL, NULL},
        {"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}",
         STREAM_BOOKMARK, "9", "{\"metadata\":{\"resourceVersion\":\"9\"}}"},
        {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}", STREAM_ERROR, "",
         "{\"code\":410,\"kind\":\"Status\"}"},
        {"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{}}}", -1, NULL, NULL},
        {"{\"type\":\"ADDED\",\"object\":[]}", -1, NULL, NULL},
        {"{\"type\":\"MOVED\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}", -1, NULL,
         NULL},
        {"{\"type\":\"ADDED\"", -1, NULL, NULL},
        {"[]", -1, NULL, NULL},
        {"nonsense", -1, NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct stream_event event = {0};
        int result = stream_event_parse(rows[i].text, strlen(rows[i].text), &event, &err);
        CHECK_INT(result, rows[i].type < 0 ? -1 : 0);
        if (result == 0) {
            AUTO(tree_freep) json_t *object = event.object;
            AUTO(text_freep) char *text = tree_canonical(object);
            CHECK_INT(event.type, rows[i].type);
            CHECK_STR(event.resource_version, rows[i].version);
            bool is_change = rows[i].type == STREAM_ADDED || rows[i].type == STREAM_MODIFIED;
            struct stream_identity identity =
                stream_event_identity(rows[i].text, strlen(rows[i].text));
            bool has_uid = strstr(rows[i].text, "\"uid\":") != NULL;
            CHECK(identity.version ==
                  (is_change && has_uid ? strtoull(rows[i].version, NULL, 10) : 0));
            CHECK_STR(text, rows[i].object);
        }
    }
}

/* Only what is the version of the whole object, and a number; with the object's uid. */
static void test_the_version_of_an_event(void) {
    static const struct {
        const char *text;
        uint64_t version;
    } rows[] = {
        {"{ \"type\" : \"MODIFIED\" , \"object\" : { \"metadata\" : { \"resourceVersion\" : \"12\" "
         ", \"uid\" : \"U\" } } }",
         12},
        {"{\"object\":{\"metadata\":{\"annotations\":{\"resourceVersion\":\"5\"},"
         "\"ownerReferences\":[{\"uid\":\"V\"}],\"resourceVersion\":\"6\",\"uid\":\"U\"}},"
         "\"type\":\"ADDED\"}",
         6},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"6\","
         "\"ownerReferences\":[{\"uid\":\"V\"}]}}}",
         0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"6\",\"uid\":6}}}", 0},
        {"{\"type\":\"ADDED\",\"object\":{\"spec\":{\"metadata\":{\"resourceVersion\":\"5\"}},"
         "\"metadata\":{\"name\":\"\\\"resourceVersion\\\":\\\"5\\\"\"}}}",
         0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":7}}}", 0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7a\"}}}", 0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"\"}}}", 0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":"
         "\"18446744073709551617\"}}}",
         0},
        {"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}", 0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7", 0},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\"", 0},
        {"{\"type\":\"ADDED\",\"object\":[", 0},
        {"{\"type", 0},
        {"{", 0},
        {"", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stream_identity identity = stream_event_identity(rows[i].text, strlen(rows[i].text));
        CHECK(identity.version == rows[i].version);
        CHECK(!identity.version || (identity.uid_size == 1 && *identity.uid == 'U'));
    }
}

int main(void) {
    TEST(test_lines);
    TEST(test_items);
    TEST(test_a_piece_can_stop_the_stream);
    TEST(test_events);
    TEST(test_the_version_of_an_event);
    return TEST_END();
}
