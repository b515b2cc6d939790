/* checkpoint.h: the state of a training as one object of the store; an incomplete one is ignored.
 *
 *   PREFIX/claim/GENERATION             created exclusively by rank 0 at a start; its content names
 *                                       the owner
 *   PREFIX/checkpoint/GENERATION-STEP   written by that generation only
 *
 * Numbers have 12 digits, so that names sort by number. The order is that of generations, not of
 * rounds (gang.h), whose numbers begin anew when a job is applied again. A process of an older
 * generation that still runs writes under its own number and does no harm. */
#pragma once

#include "agent/engine/tensor.h"
#include "agent/store/store.h"

#include <stdatomic.h>

/* Maxima; what is larger is neither written nor read. */
enum {
    CHECKPOINT_TENSORS_MAX = 1 << 16,
    CHECKPOINT_NAME_MAX = 1024,    /* bytes of a tensor's name */
    CHECKPOINT_DIGEST_MAX = 256,   /* bytes of `digest` */
    CHECKPOINT_HEAD_MAX = 64 << 20 /* bytes of the JSON before the tensors */
};
#define CHECKPOINT_BYTES_MAX ((int64_t)64 << 30)      /* of the object */
#define CHECKPOINT_NUMBER_MAX ((int64_t)999999999999) /* of a generation, of a step; from 0 */

struct checkpoint_tensor {
    const char *name; /* unique */
    struct shape shape;
    const float *data;
};

struct checkpoint {
    int64_t generation;
    int64_t step; /* number of steps done; index of the first step of the resumed training */
    uint64_t seed;
    const char
        *digest; /* of graph, data and settings; only a checkpoint with the same digest is loaded */
    size_t count;
    const struct checkpoint_tensor *tensors;
};

/* Where checkpoints are stored. prefix ends with a slash or is empty. */
struct checkpoint_location {
    struct store *store;
    const char *prefix;
};

/* Claims the next generation, greater than all claimed before. `who` names the owner, for people;
 * it is cut after 1000 bytes. On stores without exclusive creation the claim is written and read
 * back. BUSY: in 100 tries others were first each time. EXHAUSTED: all numbers are claimed. Else
 * the store's. */
NODISCARD int checkpoint_claim(const struct checkpoint_location *place, const char *who,
                               int64_t *ret_generation, struct error *err);
/* Whether no newer generation has been claimed. */
NODISCARD int checkpoint_is_newest(const struct checkpoint_location *place, int64_t generation,
                                   bool *ret_is_newest, struct error *err);

/* Writes the checkpoint atomically. The tensors' data must not change meanwhile. The size
 * of each piece is added to *written (set it to 0 before), so that another thread can watch
 * progress; it may be NULL. After a failure the object may exist nevertheless. INVALID: a maximum
 * above is exceeded, or a text is not UTF-8: nothing was written. Else the store's. */
NODISCARD int checkpoint_write(const struct checkpoint_location *place,
                               const struct checkpoint *checkpoint, _Atomic int64_t *written,
                               struct error *err);
/* Removes all but the newest `keep` checkpoints of this and older generations; claims stay. Call it
 * after a write. */
NODISCARD int checkpoint_tidy(const struct checkpoint_location *place, int64_t generation, int keep,
                              struct error *err);

/* A checkpoint that was read. */
struct checkpoint_loaded {
    struct checkpoint checkpoint;
    /* Owned; `checkpoint` points into these three. */
    char *bytes;
    struct checkpoint_tensor *tensors;
    char *text;
};
void checkpoint_release(struct checkpoint_loaded *loaded); /* also for AUTO; accepts a zeroed one */

/* Called for each checkpoint that exists but cannot be used: its name, and why. */
typedef void checkpoint_skipped(void *context, const char *name, const char *why);

/* Which checkpoint to load. Texts are borrowed. */
struct checkpoint_wanted {
    int64_t generation;          /* of the trainer that starts; only earlier ones are loaded */
    const char *digest;          /* see struct checkpoint */
    checkpoint_skipped *skipped; /* with its context; may be NULL */
    void *context;
};

/* Loads the newest usable checkpoint: complete, of this digest, of the highest generation, then of
 * the highest step; *ret_found: whether there is one; if not, *ret_loaded is unchanged.
 * EXHAUSTED: no memory for it. Else the store's. */
NODISCARD int checkpoint_load(const struct checkpoint_location *place,
                              const struct checkpoint_wanted *wanted, bool *ret_found,
                              struct checkpoint_loaded *ret_loaded, struct error *err);

/* ---- the format (checkpoint_format.c) -------------------------------------------------------- */

/* The bytes before the tensors: magic, sizes, JSON, checksums. The caller frees *ret_head. INVALID:
 * as checkpoint_write. */
NODISCARD int checkpoint_head(const struct checkpoint *checkpoint, char **ret_head,
                              size_t *ret_size, struct error *err);
/* The bytes after the tensors. size and crc: number and CRC-32C of all bytes before the tail. */
enum { CHECKPOINT_TAIL_BYTES = 16, CHECKPOINT_ALIGNMENT = 64 };
void checkpoint_tail(uint32_t crc, int64_t size, char tail[static CHECKPOINT_TAIL_BYTES]);
/* The number of zeros after a tensor. */
size_t checkpoint_padding(const struct checkpoint_tensor *tensor);
/* INVALID: some byte differs from what was written. On success *ret_loaded owns `bytes`, which are
 * from malloc or aligned_alloc (64-byte aligned, if the tensors are to be); on failure the caller
 * keeps them. */
NODISCARD int checkpoint_parse(char *bytes, size_t size, struct checkpoint_loaded *ret_loaded,
                               struct error *err);
