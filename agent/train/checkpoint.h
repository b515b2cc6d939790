/* checkpoint.h: the state of a training as one object of the store, which is whole or not believed.
 *
 *   PREFIX/claim/GENERATION             made exclusively, by rank 0, when a round begins; holds who
 *   PREFIX/checkpoint/GENERATION-STEP   written by that generation alone
 *
 * Numbers have 12 digits, so that names are in order. Generations, not rounds, say what is older:
 * rounds begin anew when a job is applied again. A process of an older generation that lives on
 * writes under its own numbers and harms nobody. */
#pragma once

#include "agent/engine/tensor.h"
#include "agent/store/store.h"

#include <stdatomic.h>

enum {
    CHECKPOINT_TENSORS_MAX = 1 << 16,
    CHECKPOINT_NAME_MAX = 1024,
    CHECKPOINT_HEAD_MAX = 64 << 20
};
#define CHECKPOINT_BYTES_MAX ((int64_t)64 << 30)
#define CHECKPOINT_NUMBER_MAX ((int64_t)999999999999) /* of a generation, of a step */

struct checkpoint_tensor {
    const char *name; /* unique */
    struct shape shape;
    const float *data;
};

struct checkpoint {
    int64_t generation;
    int64_t step; /* steps done: the first of the resumed training */
    uint64_t seed;
    const char *digest; /* of graph, data and settings: another one's is of no use */
    size_t count;
    const struct checkpoint_tensor *tensors;
};

/* Where they are. prefix ends with a slash or is empty. */
struct checkpoint_place {
    struct store *store;
    const char *prefix;
};

/* The next generation, ours from now on: greater than all that were claimed. `who` says whose it
 * is, for people. On stores without exclusive creation it is written and read back. */
NODISCARD int checkpoint_claim(const struct checkpoint_place *place, const char *who,
                               int64_t *ret_generation, struct error *err);
/* Whether nobody has claimed a newer one. */
NODISCARD int checkpoint_is_newest(const struct checkpoint_place *place, int64_t generation,
                                   bool *ret_is_newest, struct error *err);

/* Writes it as a whole. What the tensors point at must stand still meanwhile. written: bytes so
 * far, for who watches; or NULL. After a failure it may be there all the same. */
NODISCARD int checkpoint_write(const struct checkpoint_place *place,
                               const struct checkpoint *checkpoint, _Atomic int64_t *written,
                               struct error *err);
/* Removes all but the newest `keep` of this and older generations; for after a write. */
NODISCARD int checkpoint_tidy(const struct checkpoint_place *place, int64_t generation, int keep,
                              struct error *err);

/* One that was read. */
struct checkpoint_loaded {
    struct checkpoint checkpoint;
    char *bytes;                       /* all the rest points into these, */
    struct checkpoint_tensor *tensors; /* and these */
    char *text;
};
void checkpoint_release(struct checkpoint_loaded *loaded); /* for AUTO, too; a zeroed one is fine */

/* Told of each that is there and cannot be used: its name and why. */
typedef void checkpoint_skipped(void *context, const char *name, const char *why);

/* Of the generations before this one the highest, of it the highest step, that is whole and has
 * this digest; *ret_found: there is one. Errors are the store's alone. */
NODISCARD int checkpoint_load(const struct checkpoint_place *place, int64_t generation,
                              const char *digest, checkpoint_skipped *skipped, void *context,
                              bool *ret_found, struct checkpoint_loaded *ret_loaded,
                              struct error *err);

/* ---- the format (checkpoint_format.c) -------------------------------------------------------- */

/* What stands before the tensors: magic, sizes, JSON, sums. The caller frees *ret_head. */
NODISCARD int checkpoint_head(const struct checkpoint *checkpoint, char **ret_head,
                              size_t *ret_size, struct error *err);
/* What stands behind them; crc: of all bytes before. */
enum { CHECKPOINT_TAIL_BYTES = 16, CHECKPOINT_ALIGNMENT = 64 };
void checkpoint_tail(uint32_t crc, int64_t size, char tail[static CHECKPOINT_TAIL_BYTES]);
/* Zeros between a tensor and what follows it. */
size_t checkpoint_padding(const struct checkpoint_tensor *tensor);
/* INVALID: anything in it is not as it was written. On success *ret_loaded owns `bytes`, which are
 * from malloc (64-byte aligned, if the tensors are to be); on failure they stay the caller's. */
NODISCARD int checkpoint_parse(char *bytes, size_t size, struct checkpoint_loaded *ret_loaded,
                               struct error *err);
