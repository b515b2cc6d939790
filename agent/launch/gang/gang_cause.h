/* gang_cause.h: why a round of a gang ended (gang.h). Plain data. */
#pragma once

#include "lib/base.h"

enum { GANG_DETAIL_MAX = 512 /* bytes of gang_failure.detail, NUL included */ };

/* Why a round ended. Restarts after MEMORY, APP and HANG count towards max_restarts. */
enum gang_cause {
    GANG_CAUSE_NONE,
    GANG_CAUSE_DISRUPTION, /* a pod is being terminated, or was replaced by another one */
    GANG_CAUSE_LOST,       /* a member is lost, or cannot reach another one */
    GANG_CAUSE_MEMORY,     /* the kernel OOM-killed a process of the pod */
    GANG_CAUSE_APP,        /* a rank or the command exited with another code than 0 */
    GANG_CAUSE_HANG,       /* no rank made progress for hang_ms (code -1), or a rank exited because
                              it received nothing from the others for that time (its code) */
    GANG_CAUSE_FATAL,      /* permanent: another round would fail in the same way */
    GANG_CAUSE_REPEATED,   /* permanent, too, as the end of a user's program shows: it was called
                              wrongly, or has failed twice in the same way */
};

/* Why a round ended, and where. */
struct gang_failure {
    enum gang_cause cause;
    int index, rank, code; /* -1: none or unknown */
    char detail[GANG_DETAIL_MAX];
};

/* As in GET /progress: "Disruption", "Lost", "Memory", "App", "Hang"; "Final" is the name of
 * FATAL and REPEATED, "" of NONE. */
const char *gang_cause_name(enum gang_cause cause);
bool gang_cause_is_final(enum gang_cause cause); /* no round follows */
bool gang_cause_is_counted(enum gang_cause cause);

/* Exit codes of a trainer's rank: it received nothing from the others for hangSeconds; its data
 * have bad samples (reason BadData). */
enum { TRAINER_GIVES_UP = 4, TRAINER_BAD_DATA = 5 };
