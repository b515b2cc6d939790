// SPDX-License-Identifier: Apache-2.0
#include "agent/score/wire/message.h"

#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

static void test_messages_say_what_they_said(void) {
    static const char *const texts[] = {
        "{\"type\":\"hello\",\"worker\":\"job-worker-0\",\"slots\":2,\"program\":\"\"}",
        "{\"type\":\"results\",\"epoch\":16,\"results\":[[\"d\",7,8,0,812,\"o\",15320,\"1c291ca3\"]"
        ","
        "[\"d\",8,2,1,3,\"t\",\"a\\n\\\"b\\\"\\n\",[[1,\"no\"]]],[\"d\",9,2,0,0,\"n\"],"
        "[\"d\",11,9,8,0,\"n\",[[1,\"no\"]],70000,\"1c291ca3\"],"
        "[\"d\",12,9,8,0,\"n\",[[1,\"no\"]],70000,\"1c291ca3\",\"said\"],"
        "[\"p\",13,9,1,0,\"n\",[[1,\"broken\"]]],"
        "[\"f\",10,\"machine\",\"frame 17: bad\"],[\"f\",14,\"input\",\"changed\"]]}",
        "{\"type\":\"results\",\"epoch\":16,\"results\":[[\"d\",8,2,1,3,\"n\",[[1,\"no\"]],"
        "\"a\\nb\"],"
        "[\"f\",10,\"scorer\",\"frame 17: bad\",0,\"said\"],[\"f\",11,\"back\",\"x\",4]]}",
        "{\"type\":\"results\",\"epoch\":0,\"results\":[]}",
        "{\"type\":\"results\",\"epoch\":3,\"results\":[],\"requests\":{\"counts\":{\"requests\":7}"
        ","
        "\"latencies\":[[3,7]]}}",
        "{\"type\":\"results\",\"epoch\":3,\"results\":[[\"w\",7],[\"b\",7],[\"d\",7,1,0,9,\"n\"]]"
        "}",
        "{\"type\":\"published\",\"epoch\":16,\"leases\":[3,4]}",
        "{\"type\":\"leases\",\"epoch\":5,\"leases\":[[9007199254740992,0,3,1,2,{\"a\":[1]}],"
        "[8,1,4,60,1,[\"a.jpg\",\"b.jpg\"]]]}",
        "{\"type\":\"leases\",\"epoch\":5,\"workers\":3,\"leases\":[[7,0,3,1,2,[\"a\"]]]}",
        "{\"type\":\"committed\",\"epoch\":16,\"leases\":[5]}",
        "{\"type\":\"cancel\",\"lease\":0}",
        "{\"type\":\"done\"}",
        "{\"type\":\"leaving\"}",
        "{\"type\":\"refused\",\"message\":\"no\"}",
        "{\"type\":\"hello\",\"worker\":\"job-worker-0\",\"slots\":0,\"program\":\"\"}",
        "{\"type\":\"hello\",\"worker\":\"w\",\"slots\":1,\"program\":\"0.1.0 9f86d081\"}",
        "{\"type\":\"paths\",\"paths\":{\"v/net/latest/m\":\"v/net/7/m\"}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        struct message message = {0};
        CHECK_OK(message_parse(texts[i], strlen(texts[i]), &message, &err), &err);
        AUTO(text_freep) char *again = message_format(&message);
        CHECK_STR(again, texts[i]);
        message_release(&message);
    }
}

struct bad_message {
    const char *text, *sentence;
};

static void is_refused(const char *text, const char *sentence) {
    struct error err = {0};
    struct message message = {0};
    CHECK_INT(message_parse(text, strlen(text), &message, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    if (!strstr(err.text, sentence)) {
        CHECK_STR(err.text, sentence);
    }
}

static void test_bad_messages_name_the_field(void) {
    static const struct bad_message rows[] = {
        {"", ""},
        {"nonsense", ""},
        {"[]", "expected a JSON object"},
        {"{}", "type: expected hello"},
        {"{\"type\":7}", "type: expected hello"},
        {"{\"type\":\"Hello\"}", "type: expected hello"},
        {"{\"type\":\"hello\"}", "worker: expected a name"},
        {"{\"type\":\"hello\",\"worker\":\"\"}", "worker: expected a name"},
        {"{\"type\":\"hello\",\"worker\":\"../../etc\"}", "worker: expected a name"},
        {"{\"type\":\"hello\",\"worker\":\"..\"}", "worker: expected a name"},
        {"{\"type\":\"leases\",\"epoch\":1,\"leases\":[[1,0,1,1,0,{}]]}", "try: expected"},
        {"{\"type\":\"leases\",\"epoch\":1,\"leases\":[[1,0,1,0,1,{}]]}", "cells: expected"},
        {"{\"type\":\"leases\",\"epoch\":1,\"leases\":[[1,1024,1,1,1,{}]]}", "slot: expected"},
        {"{\"type\":\"leases\",\"epoch\":1,\"leases\":[[1,0,1,1,1,\"x\"]]}",
         "work: expected an object or a list"},
        {"{\"type\":\"committed\",\"epoch\":1,\"leases\":[\"x\"]}", "leases[0]: lease: expected"},
        {"{\"type\":\"hello\",\"worker\":\"w\",\"slots\":-1}", "slots: expected"},
        {"{\"type\":\"hello\",\"worker\":\"w\",\"files\":[]}", "files: expected an object"},
        {"{\"type\":\"hello\",\"worker\":\"w\",\"program\":\"0.1.0\\n\"}",
         "program: expected a version and a SHA-256"},
        {"{\"type\":\"hello\",\"worker\":\"w\",\"files\":{\"a\":\"1f\"}}",
         "files.a: expected a SHA-256 in hex"},
        {"{\"type\":\"results\",\"results\":[]}", "epoch: expected"},
        {"{\"type\":\"results\",\"epoch\":1}", "results: expected a list"},
        {"{\"type\":\"leases\",\"epoch\":1,\"leases\":{}}", "leases: expected a list"},
        {"{\"type\":\"leases\",\"epoch\":1,\"workers\":0,\"leases\":[]}", "workers: expected"},
        {"{\"type\":\"refused\"}", "message: expected a string"},
        {"{\"type\":\"done\",\"type\":\"hello\"}", ""},
        {"{\"type\":\"paths\"}", "paths: expected an object"},
        {"{\"type\":\"paths\",\"paths\":{\"a/b\":7}}", "paths.a/b: expected a string"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        is_refused(rows[i].text, rows[i].sentence);
    }
}

static void test_bad_results_name_the_field(void) {
    static const struct bad_message rows[] = {
        {"[[\"d\",-1,1,0,1,\"n\"]]", "results[0]: lease: expected"},
        {"[[\"d\",9223372036854775808,1,0,1,\"n\"]]", ""},
        {"[[\"d\",1.5,1,0,1,\"n\"]]", "lease: expected"},
        {"[[\"d\",1,1,0,1,\"n\"],[\"d\",1,1,2,1,"
         "\"n\"]]",
         "results[1]: failed: expected"},
        {"[[\"d\",1,-1,0,1,\"n\"]]", "items: expected"},
        {"[[\"d\",1,1,0]]", "us: expected"},
        {"[[\"d\",1,1,0,1]]", "place: expected \"o\""},
        {"[[\"d\",1,1,0,1,\"o\",5,\"1c29\"]]", "crc: expected"},
        {"[[\"d\",1,1,0,1,\"o\",-5,\"1c291ca3\"]]", "size: expected"},
        {"[[\"d\",1,1,0,1,\"t\",5]]", "text: expected a string"},
        {"[[\"d\",1,1,0,1,\"n\",5]]", "failures: expected a list"},
        {"[[\"d\",1,1,0,1,\"n\",[],0,\"1c291ca3\"]]", "size of failures: expected"},
        {"[[\"d\",1,1,0,1,\"n\",[],7]]", "crc: expected"},
        {"[[\"d\",1,1,0,1,\"n\",[],7,\"1c29\"]]", "crc: expected"},
        {"[[\"f\",1,\"fate\",\"x\"]]", "fault: expected scorer"},
        {"[[\"f\",1,\"scorer\"]]", "cause: expected a string"},
        {"[[\"f\",1,\"scorer\",\"x\",0,7]]", "said: expected a string"},
        {"[[\"d\",1,1,1,1,\"n\",[],{}]]", "said: expected a string"},
        {"[[\"x\",1]]", "begins with d, p, f, w or b"},
        {"[7]", "begins with d, p, f, w or b"},
        {"[[\"db\",1]]", "begins with d, p, f, w or b"},
        {"[[\"w\"]]", "results[0]: lease: expected"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"type\":\"results\",\"epoch\":1,\"results\":%s}",
                 rows[i].text);
        is_refused(text, rows[i].sentence);
    }
}

static void test_long_and_dirty_texts_become_one_line(void) {
    char text[4096];
    memset(text, 'x', sizeof text);
    text[2] = '\n';
    text[sizeof text - 1] = 0;
    json_t *tree = json_pack("{s:s,s:s}", "type", "refused", "message", text);
    AUTO(text_freep) char *json = json_dumps(tree, 0);
    json_decref(tree);
    struct error err = {0};
    struct message message = {0};
    CHECK_OK(message_parse(json, strlen(json), &message, &err), &err);
    CHECK_INT(strlen(message.text), sizeof err.text - 1);
    CHECK(!strchr(message.text, '\n'));
    message_release(&message);
}

static void test_a_message_beyond_a_mebibyte_is_refused(void) {
    char *text = x_malloc(CONTRACT_MESSAGE_MAX + 2);
    memset(text, ' ', CONTRACT_MESSAGE_MAX + 1);
    memcpy(text, "{\"type\":\"done\"}", 15);
    struct error err = {0};
    struct message message = {0};
    CHECK_OK(message_parse(text, CONTRACT_MESSAGE_MAX, &message, &err), &err);
    message_release(&message);
    CHECK_INT(message_parse(text, CONTRACT_MESSAGE_MAX + 1, &message, &err), -1);
    free(text);
}

/* Rows are added until the message is full to the last byte; a row that never fits is reported. */
static void test_batches_are_full_messages(void) {
    struct message_batch batch;
    message_batch_init(&batch, MESSAGE_RESULTS, 3);
    CHECK(message_batch_take(&batch) == NULL);
    char *rows = x_malloc(CONTRACT_MESSAGE_MAX + 1);
    memset(rows, 'x', CONTRACT_MESSAGE_MAX);
    struct message_result result = {
        .lease = 1, .items = 1, .place = MESSAGE_TEXT, .text = rows, .text_size = 4000};
    int count = 0;
    while (message_batch_result(&batch, &result) == 1) {
        count++;
    }
    CHECK(count > 200);
    CHECK_INT(message_batch_result(&batch, &result), 0);
    for (int left = count; left >= 0; left -= count) {
        AUTO(text_freep) char *text = message_batch_take(&batch);
        struct error err = {0};
        struct message message = {0};
        CHECK(strlen(text) <= CONTRACT_MESSAGE_MAX);
        CHECK_OK(message_parse(text, strlen(text), &message, &err), &err);
        CHECK_INT(message.count, left ? count : 1);
        CHECK_INT(message.epoch, 3);
        message_release(&message);
        CHECK_INT(message_batch_result(&batch, &result), 1);
    }
    free(message_batch_take(&batch));
    result.text_size = CONTRACT_MESSAGE_MAX;
    CHECK_INT(message_batch_result(&batch, &result), -1);
    CHECK(message_batch_take(&batch) == NULL);
    message_batch_release(&batch);
    free(rows);
}

#define RESULTS "{\"type\":\"results\",\"epoch\":7,\"results\":["

static void check_equal_rows(const struct message *rows, const struct message *trees) {
    CHECK_INT(rows->count, trees->count);
    for (size_t i = 0; i < MIN(rows->count, trees->count); i++) {
        const struct message_result *one = &rows->results[i], *two = &trees->results[i];
        bool has_text = two->place == MESSAGE_TEXT;
        CHECK_INT(one->place, two->place);
        CHECK_INT(one->text_size, two->text_size);
        CHECK(!has_text || (one->text_size == two->text_size &&
                            memcmp(one->text, two->text, two->text_size) == 0));
    }
}

/* What is read row by row is read as by the JSON library, which gets texts that begin with a space;
 * so are errors. The first BY_ROWS texts need no tree. */
static void test_rows_are_read_as_trees_are(void) {
    enum { BY_ROWS = 2 };
    static const char *const texts[] = {
        RESULTS "[\"d\",9,1,0,42,\"t\",\"a\\n\\u00e4\\ud83d\\ude00\\\"\"],"
                "[\"d\",10,3,2,4,\"t\",\"\\\\ b\\/\\t\"],[\"d\",11,1,0,4,\"n\"]]}",
        RESULTS "[\"d\",9,2,1,42,\"n\"],[\"d\",10,2,0,4,\"t\",\"\"]]}",
        RESULTS "[\"d\",9,1,0,42,\"t\",\"a\\n\\u00e4\\u0000\\\"\"]]}",
        RESULTS "[\"d\",9,1,0,42,\"o\",12,\"1c291ca3\"],[\"d\",10,2,0,4,\"n\"]]}",
        RESULTS "[\"p\",9,2,1,42,\"n\",[[0,\"why\"]]]]}",
        RESULTS "[\"f\",9,\"scorer\",\"why\"],[\"w\",3],[\"b\",3]]}",
        RESULTS "]}",
        RESULTS "[\"d\",9,1,2,42,\"n\"]]}",
        RESULTS "[\"d\",9,1,0,42,\"n\"],]}",
        RESULTS "[\"d\",9,1,0,42,\"n\"]]}x",
        RESULTS "[\"d\",-9,1,0,42,\"n\"]]}",
        RESULTS "[\"d\",9,1,0,9007199254740993,\"n\"]]}",
        RESULTS "[\"d\",9,1,0,42,\"t\",\"\\ud800\"]]}",
        RESULTS "[\"d\",9,1,0,42,\"t\"]]}",
        RESULTS "[\"d\",9,1,0,42,\"n\",[]]],\"more\":1}",
        "{\"type\":\"results\",\"epoch\":9007199254740993,\"results\":[[\"d\",9,1,0,42,\"n\"]]}",
        "{\"type\":\"results\",\"epoch\":07,\"results\":[[\"d\",9,1,0,42,\"n\"]]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO(text_freep) char *spaced = x_printf(" %s", texts[i]);
        struct error one = {0}, two = {0};
        struct message rows, trees;
        int first = message_parse(texts[i], strlen(texts[i]), &rows, &one);
        int second = message_parse(spaced, strlen(spaced), &trees, &two);
        CHECK_INT(first, second);
        CHECK_STR(one.text, two.text);
        CHECK(i >= BY_ROWS || first == 0);
        if (first == 0 && second == 0) {
            AUTO(text_freep) char *said = message_format(&rows);
            AUTO(text_freep) char *again = message_format(&trees);
            CHECK_STR(said, again);
            CHECK(trees.tree != NULL);
            CHECK(i >= BY_ROWS || rows.tree == NULL);
            check_equal_rows(&rows, &trees);
            message_release(&rows);
            message_release(&trees);
        }
    }
}

int main(void) {
    TEST(test_messages_say_what_they_said);
    TEST(test_bad_messages_name_the_field);
    TEST(test_bad_results_name_the_field);
    TEST(test_long_and_dirty_texts_become_one_line);
    TEST(test_a_message_beyond_a_mebibyte_is_refused);
    TEST(test_batches_are_full_messages);
    TEST(test_rows_are_read_as_trees_are);
    return TEST_END();
}
