/* gang_message.h: messages between the hub (in member 0's pod) and the members of a gang: WebSocket
 * /gang, a JSON object a text message, at most 1 MiB. HELLO and WELCOME open a connection; all
 * others are numbered by link.h, which repeats them after a connection broke.
 *
 *   member -> hub: hello prepared failed ready exited stopped beat leaving figures reports
 *                  unreached halted
 *   hub -> member: welcome table go stop notice done                                 both: ack */
#pragma once

#include "agent/launch/gang/gang_table.h"

enum { GANG_MESSAGE_NAME_MAX_BYTES = 63, GANG_MESSAGE_WORDS_MAX = 511 };

enum gang_message_type {
    GANG_MESSAGE_ACK, /* nothing but the link's own numbers */
    GANG_MESSAGE_HELLO,
    GANG_MESSAGE_PREPARED,
    GANG_MESSAGE_FAILED,    /* a failure that no restart helps: words */
    GANG_MESSAGE_READY,     /* round */
    GANG_MESSAGE_EXITED,    /* round, rank, code, is_memory, words */
    GANG_MESSAGE_STOPPED,   /* round */
    GANG_MESSAGE_BEAT,      /* rank, progress, is_waiting */
    GANG_MESSAGE_LEAVING,   /* seconds */
    GANG_MESSAGE_FIGURES,   /* line: figures.h */
    GANG_MESSAGE_REPORTS,   /* round, rank (-1: of the command), line: lines of metric.h; before
                          EXITED   of who said them */
    GANG_MESSAGE_UNREACHED, /* round, index: of whom it does not reach, words: where, and why */
    GANG_MESSAGE_HALTED,    /* round, rank, words: it is stopped (SIGSTOP); follows STOP */
    GANG_MESSAGE_SPAWN, /* both ways: round, id, line; index: on which pod; from the hub: for which
                         */
    GANG_MESSAGE_ENDED, /* both ways: id, code, words; index likewise */
    GANG_MESSAGE_KILL,  /* both ways: id; index likewise: its client has gone */
    GANG_MESSAGE_WELCOME, /* attempt, hub, last */
    GANG_MESSAGE_TABLE,   /* table, port: the master's */
    GANG_MESSAGE_GO,      /* round */
    GANG_MESSAGE_STOP,    /* round */
    GANG_MESSAGE_NOTICE,  /* seconds */
    GANG_MESSAGE_DONE,    /* code; not numbered, -1: another pod has your place */
    GANG_MESSAGE_TYPES
};

/* What a type does not list above is 0 or "". */
struct gang_message {
    enum gang_message_type type;
    int64_t number; /* of the link; 0: it is not numbered */
    int64_t ack;    /* the last one that was received */
    /* hello */
    char version[GANG_MESSAGE_NAME_MAX_BYTES + 1], pod[254],
        incarnation[GANG_MESSAGE_NAME_MAX_BYTES + 1];
    char address[46];
    int index, slots, port, reach;
    int64_t attempt; /* of the member's pod; WELCOME: of the hub's */
    int64_t seen;    /* the highest attempt of a hub that it heard of */
    int64_t last;    /* the number of the last message that it received, of ... */
    char hub[GANG_MESSAGE_NAME_MAX_BYTES + 1]; /* ... this one; WELCOME: whom it has reached */
    bool is_prepared;
    int64_t round;
    int rank, code, seconds;
    bool is_memory; /* EXITED; HELLO: that is how the pod before it ended */
    bool is_waiting;
    int64_t progress;
    char words[GANG_MESSAGE_WORDS_MAX + 1];
    int64_t id;
    char *line;              /* owned, UTF-8; NULL: none */
    struct gang_table table; /* owned */
};

/* Words may be any bytes; those that are not UTF-8 become "?". The caller frees. */
char *gang_message_write(const struct gang_message *message);
/* INVALID: what is wrong with it. Texts that are too long are cut. */
NODISCARD int gang_message_read(const char *text, size_t size, struct gang_message *ret_message,
                                struct error *err);
void gang_message_release(struct gang_message *message);
