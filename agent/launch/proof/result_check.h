/* result_check.h: whether a training's result is stored as its record says (store/finished.h): the
 * newest record is of this round, and each object has its size and SHA-256. A thread does it, since
 * storage may hang; nothing waits for that thread. It then writes result.json (docs/results.md). */
#pragma once

#include "agent/result/result_origin.h"

struct result_check_options {
    const char *path;             /* the output, VOLUME/path or az://...; copied */
    const char *run;              /* 16 hexadecimal digits; copied */
    int64_t round;                /* of the gang */
    struct result_origin *origin; /* for result.json; NULL: it is not written. Held by the check */
    int64_t patience_ms; /* for a storage that fails for a passing reason; 0: five minutes */
};

struct result_check;

struct result_check *result_check_start(const struct result_check_options *options);
/* True when it is done: *err is empty if all is as recorded (*ret_finished is the record), else it
 * says what is not. */
bool result_check_poll(struct result_check *check, struct finished *ret_finished,
                       struct error *err);
/* Frees; a thread that still runs is left alone, and frees what it uses. NULL is fine. */
void result_check_free(struct result_check *check);
