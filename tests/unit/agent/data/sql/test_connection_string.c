// SPDX-License-Identifier: Apache-2.0
#include "agent/data/sql/connection_string.h"

#include "tests/test.h"

#include <string.h>

/* The message without secrets, or the error. The caller frees. */
static char *hide(const char *text, const char *message, bool is_cut) {
    struct connection_string string;
    struct error err = {0};
    char *shown =
        connection_string_read(text, &string, &err) < 0 ? x_strdup(err.text) : x_strdup(message);
    if (!err.kind) {
        connection_string_hide(&string, shown, is_cut);
    }
    connection_string_release(&string);
    return shown;
}

static void test_no_message_has_a_secret(void) {
    static const struct {
        const char *text, *message, *wanted;
        bool is_cut;
    } rows[] = {
        {"Driver=D;Server=db;Database=sales;Uid=reader;Pwd=hidden7",
         "D db sales reader hidden7 hidden", "D db sales reader ******* ******", false},
        {"Pwd=one1;UID=u;pwd = two2 ;PASSWORD=three3", "one1 two2 three3", "**** **** ******",
         false},
        {" Pwd =hidden7", "a hidden7b", "a *******b", false},
        {"Pwd={a;b}", "a;b", "***", false},
        {"Pwd={a}}b};Server=a}b", "is a}b or a}}b", "is *** or ****", false},
        {"Pwd={a}}};x=1", "a} a}} 1", "** *** 1", false},
        {"Pwd={hidden7", "hidden7", "the connection string has a { without its }", false},
        {"Pwd={hidden7}}", "hidden7", "the connection string has a { without its }", false},
        {"Pwd={hid}den7", "hidden7",
         "the connection string has a } that is not followed by a ;: within braces write }} for it",
         false},
        {"Pwd=\xFF", "", "the connection string is not UTF-8", false},
        {"AccessToken=aa1;PRIV_KEY_FILE_PWD=bb2;ClientSecret=cc3;Extra=dd44", "aa1 bb2 cc3 dd44",
         "*** *** *** ****", false},
        {"Pwd=hid;den7;Uid=u", "hid den7", "*** ****", false},
        {"Timeout=30;BoolsAsChar=no;Pwd=p", "line 30: no u", "line 30: no u", false},
        {"Pwd=abc1;Token=xabc1y", "xabc1y abc1", "****** ****", false}, /* one within the other */
        {"Pwd=aXa", "aXaXa", "*****", false},
        {"Pwd=hidden7", "login h", "login *", true},
        {"Pwd=hidden7", "with", "with", false},
        {"Driver=SQLite3", "SQLite3", "SQLite3", true},
        {"", "a", "a", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *seen = hide(rows[i].text, rows[i].message, rows[i].is_cut);
        CHECK_STR(seen, rows[i].wanted);
    }
}

int main(void) {
    TEST(test_no_message_has_a_secret);
    return TEST_END();
}
