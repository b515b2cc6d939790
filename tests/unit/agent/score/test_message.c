// SPDX-License-Identifier: Apache-2.0
#include "agent/score/message.h"

#include "tests/test.h"

#include <stdlib.h>

static void test_messages_say_what_they_said(void) {
    static const char *const texts[] = {
        "{\"type\":\"hello\",\"worker\":\"job-worker-0\"}",
        "{\"type\":\"result\",\"lease\":7,\"items\":8,\"seconds\":0.5}",
        "{\"type\":\"result\",\"lease\":7,\"error\":\"frame 17: bad\"}",
        "{\"type\":\"lease\",\"lease\":9007199254740992,\"batch\":3,\"try\":2,\"parts\":5,\"work\":"
        "{\"a\":[1]}"
        "}",
        "{\"type\":\"cancel\",\"lease\":0}",
        "{\"type\":\"done\"}",
        "{\"type\":\"refused\",\"message\":\"no\"}",
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

static void test_bad_messages_name_the_field(void) {
    static const struct {
        const char *text, *sentence;
    } rows[] = {
        {"", ""},
        {"nonsense", ""},
        {"[]", "not a JSON object"},
        {"{}", "type is none of"},
        {"{\"type\":7}", "type is none of"},
        {"{\"type\":\"Hello\"}", "type is none of"},
        {"{\"type\":\"hello\"}", "worker is not a name"},
        {"{\"type\":\"hello\",\"worker\":\"\"}", "worker is not a name"},
        {"{\"type\":\"hello\",\"worker\":\"../../etc\"}", "worker is not a name"},
        {"{\"type\":\"hello\",\"worker\":\"..\"}", "worker is not a name"},
        {"{\"type\":\"result\",\"items\":1,\"seconds\":1}", "lease is not an integer"},
        {"{\"type\":\"result\",\"lease\":1.5,\"items\":1,\"seconds\":1}", "lease is not"},
        {"{\"type\":\"result\",\"lease\":-1,\"items\":1,\"seconds\":1}", "lease is not"},
        {"{\"type\":\"result\",\"lease\":9007199254740993,\"items\":1,\"seconds\":1}", "lease"},
        {"{\"type\":\"result\",\"lease\":1,\"seconds\":1}", "items is not an integer"},
        {"{\"type\":\"result\",\"lease\":1,\"items\":1}", "seconds is not a number"},
        {"{\"type\":\"result\",\"lease\":1,\"items\":1,\"seconds\":-1}", "seconds is not"},
        {"{\"type\":\"result\",\"lease\":1,\"error\":7}", "error is not a text"},
        {"{\"type\":\"lease\",\"lease\":1,\"batch\":1,\"try\":0,\"work\":{}}", "try is not"},
        {"{\"type\":\"lease\",\"lease\":1,\"batch\":1,\"try\":1,\"parts\":0,\"work\":[]}",
         "work is not"},
        {"{\"type\":\"lease\",\"lease\":1,\"batch\":1,\"try\":1,\"work\":{}}", "parts is not"},
        {"{\"type\":\"refused\"}", "message is not a text"},
        {"{\"type\":\"done\",\"type\":\"hello\"}", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct message message = {0};
        CHECK_INT(message_parse(rows[i].text, strlen(rows[i].text), &message, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        if (!strstr(err.text, rows[i].sentence)) {
            CHECK_STR(err.text, rows[i].sentence);
        }
    }
}

static void test_long_and_dirty_texts_become_one_line(void) {
    char text[4096];
    memset(text, 'x', sizeof text);
    text[2] = '\n';
    text[sizeof text - 1] = 0;
    json_t *tree = json_pack("{s:s,s:i,s:s}", "type", "result", "lease", 1, "error", text);
    AUTO(text_freep) char *json = json_dumps(tree, 0);
    json_decref(tree);
    struct error err = {0};
    struct message message = {0};
    CHECK_OK(message_parse(json, strlen(json), &message, &err), &err);
    CHECK_INT(strlen(message.text), sizeof err.text - 1);
    CHECK(!strchr(message.text, '\n'));
}

static void test_a_message_beyond_a_mebibyte_is_refused(void) {
    char *text = x_malloc(MESSAGE_BYTES_MAX + 2);
    memset(text, ' ', MESSAGE_BYTES_MAX + 1);
    memcpy(text, "{\"type\":\"done\"}", 15);
    struct error err = {0};
    struct message message = {0};
    CHECK_OK(message_parse(text, MESSAGE_BYTES_MAX, &message, &err), &err);
    CHECK_INT(message_parse(text, MESSAGE_BYTES_MAX + 1, &message, &err), -1);
    free(text);
}

int main(void) {
    TEST(test_messages_say_what_they_said);
    TEST(test_bad_messages_name_the_field);
    TEST(test_long_and_dirty_texts_become_one_line);
    TEST(test_a_message_beyond_a_mebibyte_is_refused);
    return TEST_END();
}
