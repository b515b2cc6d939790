/* notice_read.h: parses the answers of Azure's scheduled-events service, for notice.c. Pure; all
 * sizes are bounded, since the bytes come from the network. Sources: Azure's documentation of
 * Scheduled Events (api-version 2020-07-01) and of its Instance Metadata Service. */
#pragma once

#include "lib/error.h"

enum {
    NOTICE_BYTES_MAX = 256 << 10, /* of an answer; a placement group has at most 100 machines */
    NOTICE_AHEAD_MS = 60000,      /* events that are farther away are ignored (except Preempt) */
};

struct notice_event {
    char type[32];   /* "Preempt", "Terminate", "Reboot", "Redeploy" */
    char id[64];     /* for the log */
    int64_t left_ms; /* until it may happen; 0: now, or unknown */
};

/* Returns 1 and the earliest event that takes this machine away soon; 0: there is none; -1 with
 * INVALID: not a list of events. Preempt counts always (it comes 30 s before), the others from
 * NOTICE_AHEAD_MS on (a Redeploy is announced up to days before), Freeze never, because memory and
 * files survive it. machine: a name as in the events' Resources; its case does not matter. */
NODISCARD int notice_read(const char *text, size_t size, const char *machine, int64_t now_wall_ms,
                          struct notice_event *ret_event, struct error *err);
/* "Mon, 19 Sep 2016 18:29:47 GMT" to milliseconds since 1970; -1: another text. */
int64_t notice_time(const char *text);
