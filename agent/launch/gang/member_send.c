// SPDX-License-Identifier: Apache-2.0
/* Sends a member's messages to the hub. */
#include "agent/launch/gang/member_state.h"

#include "lib/log.h"

#include <stdio.h>

void member_send(struct member *member, struct gang_message *message) {
    message->round = message->round ? message->round : member->round;
    link_send(member->link, message);
}

void member_fail(struct member *member, int code, const char *what, const char *detail) {
    struct gang_message message = {.type = GANG_MESSAGE_FAILED, .code = code};
    snprintf(member->failure, sizeof member->failure, "%s%s%s", what, *detail ? ": " : "", detail);
    snprintf(message.detail, sizeof message.detail, "%s", member->failure);
    member->has_failed = true;
    member->failure_code = code;
    log_event(LOG_ERROR, "%s", member->failure);
    member_send(member, &message);
}
