// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/bad_samples.h"

#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/order.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct bad_samples {
    struct bad_samples_policy policy;
    const char *what;
    bad_samples_line *line;
    void *context;
    pthread_mutex_t lock;
    uint8_t *noted;    /* one bit a sample; NULL: it does not skip */
    struct error last; /* the newest one noted */
    atomic_bool has_ended;
};

int bad_samples_read(const json_t *data, struct bad_samples_policy *ret_policy, struct error *err) {
    static const char *const names[] = {"Fail", "Skip", NULL};
    struct bad_samples_policy policy = {.max = BAD_SAMPLES_USUAL};
    int choice = 0;
    if (json_object_get(data, "onBadSample") &&
        fields_choice(data, "onBadSample", names, &choice, err) < 0) {
        return -1;
    }
    if (json_object_get(data, "maxBadSamples") &&
        fields_integer(data, "maxBadSamples", (int64_t[]){1, BAD_SAMPLES_MAX}, &policy.max, err) <
            0) {
        return -1;
    }
    policy.skips = choice == 1;
    *ret_policy = policy;
    return 0;
}

bool bad_samples_is_one(const struct error *err) {
    return err->kind == ERROR_INVALID || err->kind == ERROR_UNSUPPORTED;
}

int64_t bad_samples_substitute(uint64_t seed, int64_t epoch, int64_t count, int64_t place,
                               uint32_t attempt) {
    return philox_below(philox_bits(seed, epoch, place, DRAW_SUBSTITUTE + attempt), count);
}

struct bad_samples *bad_samples_new(const struct bad_samples_policy *policy, const char *what,
                                    int64_t count, bad_samples_line *line, void *context) {
    struct bad_samples *bad = x_calloc(1, sizeof *bad);
    bad->policy = *policy;
    bad->what = what;
    bad->line = line;
    bad->context = context;
    bad->noted = policy->skips ? x_calloc((size_t)count / 8 + 1, 1) : NULL;
    pthread_mutex_init(&bad->lock, NULL);
    atomic_init(&bad->has_ended, false);
    return bad;
}

void bad_samples_free(struct bad_samples *bad) {
    if (bad) {
        pthread_mutex_destroy(&bad->lock);
        free(bad->noted);
        free(bad);
    }
}

bool bad_samples_skips(const struct bad_samples *bad) {
    return bad && bad->policy.skips;
}

void bad_samples_note(struct bad_samples *bad, int64_t index, const struct error *why) {
    uint8_t bit = (uint8_t)(1 << index % 8);
    pthread_mutex_lock(&bad->lock);
    bool is_new = !(bad->noted[index / 8] & bit);
    bad->noted[index / 8] |= bit;
    if (is_new) {
        AUTO(text_freep) char *line = x_printf("%s: bad sample: %s", bad->what, why->text);
        bad->last = *why;
        bad->line(bad->context, line);
    }
    pthread_mutex_unlock(&bad->lock);
}

void bad_samples_end(struct bad_samples *bad) {
    if (bad) {
        atomic_store(&bad->has_ended, true);
    }
}

bool bad_samples_has_ended(const struct bad_samples *bad) {
    return bad && atomic_load(&bad->has_ended);
}

int bad_samples_check(struct bad_samples *bad, int64_t met, struct error *err) {
    if (!bad_samples_skips(bad) || met <= bad->policy.max) {
        return 0;
    }
    bad_samples_end(bad);
    pthread_mutex_lock(&bad->lock);
    AUTO(text_freep) char *last = x_strdup(bad->last.text);
    pthread_mutex_unlock(&bad->lock);
    return error_set(err, ERROR_INVALID,
                     "%s: %lld bad samples, more than data.maxBadSamples (%lld); the ranks' logs "
                     "name them%s%.200s",
                     bad->what, (long long)met, (long long)bad->policy.max,
                     *last ? "; one is " : "", last);
}
