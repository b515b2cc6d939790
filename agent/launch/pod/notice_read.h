/* notice_read.h: what the scheduled-events address of Azure says, read and judged. PURE: the bytes
 * come from the network, so all is bounded. For notice.c. Sources: Azure's documentation of
 * Scheduled Events (api-version 2020-07-01) and of its Instance Metadata Service. */
#pragma once

#include "lib/error.h"

enum {
    NOTICE_BYTES_MAX = 256 << 10, /* of an answer; a placement group has at most 100 machines */
    NOTICE_NAME_MAX = 128,        /* of a machine */
    NOTICE_AHEAD_MS = 60000,      /* what is farther away than this is nothing to leave for yet */
};

struct notice_event {
    char type[32];   /* "Preempt", "Terminate", "Reboot", "Redeploy" */
    char id[64];     /* for the log */
    int64_t left_ms; /* until it may happen; 0: now or unknown */
};

/* Does one of the events take this machine away, and soon? 1: yes (the one that comes first), 0:
 * no, -1 with INVALID: no list of events. Preempt counts whenever it is said (30 s before), the
 * others from NOTICE_AHEAD_MS on: a Redeploy is known up to days before. Freeze never: memory and
 * files survive it. machine: among the event's Resources, in any case of letters. */
NODISCARD int notice_read(const char *text, size_t size, const char *machine, int64_t now_wall_ms,
                          struct notice_event *ret_event, struct error *err);
/* "Mon, 19 Sep 2016 18:29:47 GMT" -> milliseconds since 1970; -1: no such text. */
int64_t notice_time(const char *text);
