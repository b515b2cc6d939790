/* result_check.h: verifies the stored result of a gang whose ranks have all succeeded. A thread
 * looks, since storage may hang; nothing waits for that thread. Of a training: whether the result
 * is as its record says (store/finished.h): the newest record is of this round, and each object has
 * its size and SHA-256. Of a command: all files of its outputs. Then it writes result.json
 * (docs/results.md). Before all that it stores that the ranks have ended (ended.h). */
#pragma once

#include "agent/launch/proof/ended.h"
#include "agent/result/result_origin.h"

/* Texts are copied. */
struct result_check_options {
    const char *path;         /* of a training: the output, a path (store.h); NULL: of a command */
    const char *run;          /* of a training: 16 hexadecimal digits */
    int64_t round;            /* of the gang */
    char **outputs;           /* of a command: VOLUME/path, NULL-ended */
    json_t *end_new;          /* struct ended's; taken over */
    struct ended_place ended; /* where to store it; path NULL: nowhere */
    int64_t ended_attempt;    /* has stored it already; 0: none has */
    struct result_origin *origin; /* for result.json; NULL: it is not written. Held by the check */
    int64_t timeout_ms; /* for a storage that fails for a passing reason; 0: five minutes */
};

struct result_check_end {
    struct error err;         /* empty: all is as recorded, and result.json is written */
    struct finished finished; /* of a training: the record */
    bool is_overtaken;        /* a successor of this pod starts the gang again: nothing was done */
    char result_sha256[65];   /* of (the first) result.json; "": none was written */
    char empty[256];          /* of a command: (the first) output without a file; "": none */
};

struct result_check;

struct result_check *result_check_start(const struct result_check_options *options);
/* True when it is done. */
bool result_check_poll(struct result_check *check, struct result_check_end *ret_end);
/* Why the last try failed, while it goes on; "": it has not. */
void result_check_read_trouble(struct result_check *check, char *text, size_t size);
/* Frees; a thread that still runs is left alone, and frees what it uses. Accepts NULL. */
void result_check_free(struct result_check *check);
