/* gang_message.h: the messages between the hub (in the pod of member 0) and the members of a gang:
 * WebSocket /gang, one JSON object per text message, at most 1 MiB. HELLO and WELCOME open a
 * connection; link.h numbers all others and repeats them after a lost connection. Hub and members
 * are always of the same version. */
#pragma once

#include "agent/launch/gang/gang_table.h"
#include "agent/launch/proof/gang_proof.h"

enum { GANG_MESSAGE_NAME_MAX_BYTES = 63, GANG_MESSAGE_DETAIL_MAX = 511 };

/* In brackets: the fields that a type uses, besides the link's numbers. */
enum gang_message_type {
    /* both ways */
    GANG_MESSAGE_ACK, /* carries only the link's numbers */

    /* member to hub */
    GANG_MESSAGE_HELLO,     /* [version pod incarnation address index slots port
                               connectivity_port tunnel_port attempt seen last hub is_prepared
                               is_memory round] */
    GANG_MESSAGE_PREPARED,  /* spec.prepare has succeeded */
    GANG_MESSAGE_FAILED,    /* a permanent failure [code detail] */
    GANG_MESSAGE_READY,     /* ready to start the round [round] */
    GANG_MESSAGE_STARTED,   /* a rank of mpirun starts, or a proxy (gang_proof.h) [round launch
                               rank size is_proxy] */
    GANG_MESSAGE_EXITED,    /* a process has ended [round rank code is_memory detail; of one that
                               STARTED also launch size is_proxy was_signalled] */
    GANG_MESSAGE_STOPPED,   /* nothing of the round runs any more [round] */
    GANG_MESSAGE_HEARTBEAT, /* [rank progress is_waiting] */
    GANG_MESSAGE_LEAVING,   /* this pod terminates [seconds] */
    GANG_MESSAGE_METRICS,   /* the newest metrics [line: latest_metrics.h] */
    GANG_MESSAGE_REPORTS,   /* metrics for spec.metrics, sent before the EXITED of the program
                               that reported them [round rank (-1: the command) line: one or more
                               lines of metric.h] */
    GANG_MESSAGE_WAITS,     /* what keeps rank 0 from storing its result, "": nothing [round detail]
                             */
    GANG_MESSAGE_UNREACHABLE, /* cannot reach the pod `index` [round index detail] */
    GANG_MESSAGE_SUSPENDED,   /* on STOP: a process is suspended (SIGSTOP) [round rank detail] */

    /* From one member through the hub to another: start a command there (rsh.h). `index` is the
     * receiver's on the way to the hub, and the sender's after it. `id` is the request's number at
     * the member that asks. */
    GANG_MESSAGE_SPAWN, /* [round id index line: the command line] */
    GANG_MESSAGE_ENDED, /* the command has ended [id index code detail] */
    GANG_MESSAGE_KILL,  /* kill the command: the client that asked for it is gone [id index] */

    /* hub to member */
    GANG_MESSAGE_WELCOME, /* [attempt hub last] */
    GANG_MESSAGE_TABLE,   /* the round's table [round table port: a free one on member 0] */
    GANG_MESSAGE_START,   /* start the round's processes [round] */
    GANG_MESSAGE_STOP,    /* end all processes of the round and earlier ones [round] */
    GANG_MESSAGE_NOTICE,  /* STOP follows within that time [seconds] */
    GANG_MESSAGE_DONE,    /* the job has ended [code]; not numbered as the answer to a HELLO: code
                             -1: another pod has this member's index */
    GANG_MESSAGE_TYPES
};

/* Fields that a type does not use are 0, NULL or "". */
struct gang_message {
    enum gang_message_type type;
    int64_t number; /* set by link.h; 0: not numbered */
    int64_t ack;    /* set by link.h: the number of the last message received */
    char version[GANG_MESSAGE_NAME_MAX_BYTES + 1];          /* of Windlass */
    char pod[254];                                          /* name */
    char incarnation[GANG_MESSAGE_NAME_MAX_BYTES + 1];      /* gang.h */
    char address[46];                                       /* of the pod */
    int index, slots, port, connectivity_port, tunnel_port; /* gang_table.h */
    int64_t attempt;                           /* HELLO: of the member's pod; WELCOME: the hub's */
    int64_t seen;                              /* the highest attempt of a hub it has met */
    int64_t last;                              /* the number of the last message received ... */
    char hub[GANG_MESSAGE_NAME_MAX_BYTES + 1]; /* ... from this hub; WELCOME: the hub's name */
    bool is_prepared;
    int64_t round;
    int rank, code, seconds;
    bool is_memory; /* EXITED: OOM-killed; HELLO: its predecessor was */
    bool is_waiting;
    bool is_proxy, was_signalled;
    char launch[GANG_LAUNCH_NAME_MAX];
    int size;
    int64_t progress;
    char detail[GANG_MESSAGE_DETAIL_MAX + 1]; /* for people */
    int64_t id;
    char *line;              /* owned, UTF-8; NULL: none */
    struct gang_table table; /* owned */
};

/* JSON text; the caller frees. In `detail` bytes that are not UTF-8 become "?". */
char *gang_message_write(const struct gang_message *message);
/* INVALID: names the wrong field. Texts that are too long are cut. */
NODISCARD int gang_message_read(const char *text, size_t size, struct gang_message *ret_message,
                                struct error *err);
void gang_message_release(struct gang_message *message);
