/* finished.h: the record of a training that has come to its end: which objects of the output are
 * its result, with their sizes and SHA-256. Rank 0 writes it after these objects, the job's hub
 * reads it and looks at them before it says Succeeded, and so may anyone later (docs/trainer.md has
 * the format).
 *
 *   PREFIX/finished/GENERATION   created exclusively, JSON, one per start of the training that came
 *                                to its end; the highest number counts
 *
 * PREFIX is ".windlass/RUN/", GENERATION the 12 digits of the start's number (train/checkpoint.h).
 * A start that another one has overtaken writes under its own, lower number: it changes nothing. */
#pragma once

#include "agent/store/store.h"

enum {
    FINISHED_OBJECTS_MAX = 16,
    FINISHED_NAME_MAX = 255, /* bytes of a text of the record */
    FINISHED_CHANGED_MAX = 12,
    FINISHED_BYTES_MAX = 16384 /* of a record */
};

struct finished_object {
    char name[FINISHED_NAME_MAX + 1]; /* in the output */
    int64_t size_bytes;
    char sha256[65];
};

struct finished {
    char run[17];       /* 16 hexadecimal digits */
    int64_t generation; /* of the start that wrote it, from 1 */
    int64_t round;      /* of the gang (WINDLASS_ROUND); 0: started by hand */
    int64_t step, epochs;
    char settings[65];                     /* SHA-256 of settings and data, as in checkpoints */
    char data[33];                         /* what is not in `settings`: test data, and sizes and
                                              times of change of files; "": not known */
    char changed[FINISHED_CHANGED_MAX];    /* data whose files changed while it trained, or since
                                              the first trial of its Sweep began: "train", "test",
                                              "train test"; "": none did */
    int64_t bad_samples;                   /* the most that were left out of an epoch */
    char objective[FINISHED_NAME_MAX + 1]; /* by which the network was chosen; "": the last one */
    char at[21];                           /* clock_format */
    size_t count;                          /* at least 1 */
    struct finished_object objects[FINISHED_OBJECTS_MAX];
};

/* The record as text; the caller frees. Its texts are UTF-8. */
char *finished_write(const struct finished *finished);
/* INVALID: it is not a record, or of another version; the message names the field. */
NODISCARD int finished_read(const char *text, size_t size, struct finished *ret_finished,
                            struct error *err);

/* Stores the record, once per generation. CONFLICT: the generation has another record. */
NODISCARD int finished_put(struct store *store, const char *prefix, const struct finished *finished,
                           struct error *err);
/* The record of the highest generation. *ret_found: there is one. INVALID: it is damaged. */
NODISCARD int finished_newest(struct store *store, const char *prefix, bool *ret_found,
                              struct finished *ret_finished, struct error *err);

/* Reads the whole object. NOT_FOUND: there is none; INVALID: its name is too long; CONFLICT: it
 * changed while it was read. */
NODISCARD int finished_hash(struct store *store, const char *name,
                            struct finished_object *ret_object, struct error *err);
/* Whether every object is there with its size and SHA-256. FAILED: one is missing, is another, or
 * changes, which the message names; other errors are the store's. */
NODISCARD int finished_check(struct store *store, const struct finished *finished,
                             struct error *err);
