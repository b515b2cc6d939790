/* bad_samples.h: what happens with samples that cannot be used (spec.trainer.data):
 *
 *   {onBadSample: Fail | Skip, maxBadSamples: 100}
 *
 * A sample is bad by its bytes: its file or row is damaged, of an unknown format, or has NaN
 * or Infinity in the place of a number. Errors of the machine or the storage are not bad samples.
 *
 * Fail: the first one ends the training. Skip: in training its place in the epoch gets another
 * sample, drawn by a pure function of seed, epoch and place, so that every number of ranks and
 * every restart sees the same batches, of the same size; in evaluation it does not count. Each
 * place is visited once an epoch, so the bad places of an epoch, summed over the ranks, are the bad
 * samples; more than maxBadSamples end the training. */
#pragma once

#include "lib/error.h"

#include <jansson.h>

enum {
    BAD_SAMPLES_USUAL = 100, /* maxBadSamples, if the spec has none */
    BAD_SAMPLES_MAX = 1000000,
    BAD_SAMPLES_DRAWS = 1000, /* of a substitute that is good */
};

struct bad_samples_policy {
    bool skips;
    int64_t max; /* bad samples of an epoch, if it skips */
};
/* data: spec.trainer.data. Without the fields: Fail. */
NODISCARD int bad_samples_read(const json_t *data, struct bad_samples_policy *ret_policy,
                               struct error *err);
/* Whether an error of dataset_read says that the sample is bad. Pure. */
bool bad_samples_is_one(const struct error *err);
/* The sample that takes a bad one's place; attempt: 0 to BAD_SAMPLES_DRAWS - 1. Pure. */
int64_t bad_samples_substitute(uint64_t seed, int64_t epoch, int64_t count, int64_t place,
                               uint32_t attempt);

/* The bad samples of a data set, as this rank has met them. Any thread. */
struct bad_samples;
/* line: names a bad sample, called when it is met for the first time, by any thread, one at a
 * time. */
typedef void bad_samples_line(void *context, const char *line);
/* what: "data.train", for lines and errors. count: samples of the data set. */
struct bad_samples *bad_samples_new(const struct bad_samples_policy *policy, const char *what,
                                    int64_t count, bad_samples_line *line, void *context);
void bad_samples_free(struct bad_samples *bad); /* accepts NULL */
bool bad_samples_skips(const struct bad_samples *bad);
/* Sample `index` is bad, by `why`. */
void bad_samples_note(struct bad_samples *bad, int64_t index, const struct error *why);
/* The training ends because of bad samples. */
void bad_samples_end(struct bad_samples *bad);
bool bad_samples_has_ended(const struct bad_samples *bad); /* NULL: false */
/* INVALID, and has_ended: `met` bad samples of an epoch are more than the policy allows. */
NODISCARD int bad_samples_check(struct bad_samples *bad, int64_t met, struct error *err);
