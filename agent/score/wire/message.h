/* message.h: the messages of coordinator and workers (docs/wire.md has the table): one JSON object
 * per WebSocket message; leases and results come in batches. Both directions are parsed here,
 * bounded and checked; unknown fields are ignored, so that a newer peer may send more. Frequent
 * messages are formatted without a JSON library (tests/bench/messages.c). */
#pragma once

#include "lib/buffer.h"
#include "lib/contract.h"
#include "lib/tree.h"

enum {
    MESSAGE_NAME_MAX = 253, /* of a worker: a pod's name */
    MESSAGE_SLOTS_MAX = 1024,
    MESSAGE_FILES_MAX = 1024, /* a model and labels; or a program's code */
    MESSAGE_PATHS_MAX = 64,
    MESSAGE_DEATHS_MAX = 1000000,
};
/* Every JSON reader has exact numbers up to here. */
#define MESSAGE_NUMBER_MAX ((int64_t)1 << 53)

enum message_type {
    MESSAGE_HELLO,     /* worker: name, slots, files; with 0 slots it asks for PATHS */
    MESSAGE_RESULTS,   /* worker: epoch, results, metrics */
    MESSAGE_PUBLISHED, /* worker: epoch, numbers: leases whose files are published */
    MESSAGE_LEAVING,   /* worker: the next results are its last, and end all its leases */
    MESSAGE_LEASES,    /* coordinator: epoch, leases */
    MESSAGE_COMMITTED, /* coordinator: epoch, numbers: leases that may be published */
    MESSAGE_CANCEL,    /* coordinator: lease; drop it, but still report it (as a fault) */
    MESSAGE_DONE,      /* coordinator: no work is left, exit 0 */
    MESSAGE_REFUSED,   /* coordinator: text says why; exit 1 */
    MESSAGE_PATHS,     /* coordinator: paths; the answer to a hello without slots */
    MESSAGE_TYPE_COUNT
};

struct message_lease {
    int64_t lease, first; /* first: cell */
    int slot, cells, try; /* of the worker's slots, from 0; cells and try >= 1 */
    const json_t *work;   /* what to score: an object (media.h) or a list of lines (input.h) */
};

/* Where the result is: in the object of its try, in the message, or nowhere (SummaryOnly). */
enum message_place { MESSAGE_OBJECT, MESSAGE_TEXT, MESSAGE_NOWHERE };
enum message_fault {
    MESSAGE_SCORER,      /* the scorer or the input: counts as a try */
    MESSAGE_MACHINE,     /* this machine or the storage: counts like a lost worker */
    MESSAGE_HANDED_BACK, /* returned: not begun, or cancelled: does not count */
    MESSAGE_INPUT,       /* the input is not as it was listed: a scorer's, and the last try */
    MESSAGE_FAULT_COUNT
};
/* Results of a lease, or events before its result, in the order in which they happened: WAITS: the
 * worker is not ready for a lease (for example, its program must be started first); BEGINS: now it
 * is. */
enum message_event { MESSAGE_ENDS, MESSAGE_WAITS, MESSAGE_BEGINS };

struct message_result {
    int64_t lease;
    enum message_event event; /* all fields below are for MESSAGE_ENDS */
    bool is_fault;
    enum message_fault fault;
    int64_t items;           /* of a fault: the lease's items, 0: unknown */
    int64_t failed, took_us; /* not of a fault, like all fields below except text */
    bool is_final;           /* another try would find the same: with failed, or MESSAGE_INPUT */
    enum message_place place;
    int64_t size_bytes; /* MESSAGE_OBJECT: of the object try/EPOCH-LEASE, which has this CRC-32C */
    uint32_t crc;
    const char *text; /* MESSAGE_TEXT: the rows; of a fault: its cause, which may be any text */
    size_t text_size;
    /* Of items: [[index in the lease, cause], ...], or NULL. failures_bytes > 0: only the first;
     * all are in an object of that size (failures.h). */
    const json_t *failures;
    int64_t failures_bytes;
    uint32_t failures_crc; /* CRC-32C of that object */
    const char
        *output_tail; /* of a fault, or with failures: the last output of the program in this try */
    size_t output_tail_size; /* any text; 0: none */
};

struct message {
    enum message_type type;
    char name[MESSAGE_NAME_MAX + 1];
    int slots;              /* 0..MESSAGE_SLOTS_MAX */
    int deaths, deaths_max; /* of a hello: of how many workers before it, and how many are too many;
                               0: none; then `text` is how the last one ended */
    char program[128];      /* of a hello: see scored_by.h; absent: "" */
    json_t *files;          /* borrowed; of the scorer: the spec's field -> SHA-256 in hex */
    const json_t *metrics; /* borrowed; of RESULTS without results: request_metrics.h; NULL: none */
    const json_t *paths;   /* borrowed: text -> text (moving_paths.h); NULL: none */
    int64_t epoch, lease;  /* >= 0 */
    int workers;           /* of LEASES: connected to the coordinator; at least 1 */
    char text[512];        /* one line, truncated if longer */
    size_t count;          /* of the entries of its type: */
    struct message_lease *leases;
    struct message_result *results;
    int64_t *numbers;
    /* Pointers in leases and results point into one of these. */
    json_t *tree;
    char *texts;
};

/* INVALID names the field; *ret_message is untouched then. */
NODISCARD int message_parse(const char *text, size_t size, struct message *ret_message,
                            struct error *err);
/* The caller frees. Never NULL; may be longer than CONTRACT_MESSAGE_MAX. */
char *message_format(const struct message *message);
void message_release(struct message *message);

/* ---- outgoing batches ----------------------------------------------------------------------- */

struct message_batch {
    enum message_type type; /* LEASES, RESULTS, COMMITTED or PUBLISHED */
    int64_t epoch;
    int workers; /* of LEASES: as in message; 0 is 1 */
    size_t count;
    struct buffer text;
};

void message_batch_init(struct message_batch *batch, enum message_type type, int64_t epoch);
void message_batch_release(struct message_batch *batch);
/* 1: added; 0: no room, take the message first; -1: larger than any message: the caller reports the
 * lease or result as failed. work: JSON text, used instead of lease->work. */
int message_batch_lease(struct message_batch *batch, const struct message_lease *lease,
                        const char *work);
int message_batch_result(struct message_batch *batch, const struct message_result *result);
int message_batch_number(struct message_batch *batch, int64_t number);
/* The message; the caller frees. NULL: nothing was added. The batch is empty afterwards. */
char *message_batch_take(struct message_batch *batch);
