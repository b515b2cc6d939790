/* gang_play.h: plays events of members to a gang, for tests of single decisions. */
#pragma once

#include "agent/launch/gang/gang_state.h"

#include "tests/test.h"

static inline bool tell(struct gang *gang, enum gang_event_kind kind, int index, int64_t attempt,
                        int64_t now_ms) {
    struct gang_facts facts;
    gang_read_facts(gang, &facts);
    struct gang_event event = {.kind = kind,
                               .index = index,
                               .incarnation = attempt == 1 ? "first" : "second",
                               .round = kind == GANG_EVENT_HELLO ? 0 : facts.round,
                               .attempt = attempt,
                               .seen = 1,
                               .is_prepared = true,
                               .rank = -1,
                               .code = -1,
                               .seconds = 28};
    return gang_handle(gang, &event, now_ms);
}

/* The last of all due actions; -1: none. */
static inline int last_action(struct gang *gang, int64_t now_ms) {
    struct gang_action action;
    int last = -1;
    while (gang_next_action(gang, now_ms, &action)) {
        last = (int)action.kind;
    }
    return last;
}

static inline struct gang *run(const struct gang_options *options) {
    struct gang *gang = gang_new(options);
    for (int i = 0; i < options->workers; i++) {
        CHECK(tell(gang, GANG_EVENT_HELLO, i, 1, 0));
    }
    CHECK_INT(last_action(gang, 0), GANG_ACTION_CONFIGURE);
    for (int i = 0; i < options->workers; i++) {
        CHECK(tell(gang, GANG_EVENT_READY, i, 1, 0));
    }
    CHECK_INT(last_action(gang, 0), GANG_ACTION_START);
    return gang;
}
