// SPDX-License-Identifier: Apache-2.0
/* Messages of a gang: texts that are not UTF-8, or are cut inside a character. */
#include "agent/launch/gang/gang_message.h"
#include "tests/test.h"

/* Cut by its writer. */
static void words_are_heard_whatever_they_are(void) {
    struct gang_message message = {.type = GANG_MESSAGE_EXITED, .rank = 1, .code = 7}, heard;
    struct error err = {0};
    snprintf(message.detail, sizeof message.detail, "%.8s", "f\xfcr 12\xc3\xa4");
    AUTO(text_freep) char *text = gang_message_write(&message);
    CHECK_OK(gang_message_read(text, strlen(text), &heard, &err), &err);
    CHECK_STR(heard.detail, "f?r 12\xc3\xa4");
    gang_message_release(&heard);
    message.detail[7] = 0;
    AUTO(text_freep) char *cut = gang_message_write(&message);
    CHECK_OK(gang_message_read(cut, strlen(cut), &heard, &err), &err);
    CHECK_STR(heard.detail, "f?r 12?");
    CHECK_INT(heard.code, 7);
    gang_message_release(&heard);
}

int main(void) {
    TEST(words_are_heard_whatever_they_are);
    return TEST_END();
}
