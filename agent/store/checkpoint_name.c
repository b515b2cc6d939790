// SPDX-License-Identifier: Apache-2.0
#include "agent/store/checkpoint_name.h"

#include <inttypes.h>
#include <string.h>

char *checkpoint_name(const char *prefix, int64_t generation, int64_t step) {
    return x_printf("%s" CHECKPOINT_FOLDER "/%0*" PRId64 "-%0*" PRId64, prefix, CHECKPOINT_DIGITS,
                    generation, CHECKPOINT_DIGITS, step);
}

bool checkpoint_name_number(const char *text, int64_t *ret_number) {
    int64_t number = 0;
    for (int i = 0; i < CHECKPOINT_DIGITS; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        number = 10 * number + (text[i] - '0');
    }
    *ret_number = number;
    return true;
}

bool checkpoint_name_read(const char *name, int64_t *ret_generation, int64_t *ret_step) {
    return strlen(name) == 2 * CHECKPOINT_DIGITS + 1 && name[CHECKPOINT_DIGITS] == '-' &&
           checkpoint_name_number(name, ret_generation) &&
           checkpoint_name_number(name + CHECKPOINT_DIGITS + 1, ret_step);
}

struct search {
    size_t prefix; /* bytes of a name before its numbers */
    int64_t step;
};

static int note(void *context, const char *name, const struct store_info *info UNUSED,
                struct error *err UNUSED) {
    struct search *search = context;
    int64_t generation, step;
    if (checkpoint_name_read(name + search->prefix, &generation, &step)) {
        search->step = MAX(search->step, step);
    }
    return 0;
}

int checkpoint_name_highest_step(struct store *store, const char *prefix, int64_t *ret_step,
                                 struct error *err) {
    AUTO(text_freep) char *folder = x_printf("%s" CHECKPOINT_FOLDER "/", prefix);
    struct search search = {.prefix = strlen(folder)};
    if (store_list(store, folder, NULL, note, &search, err) < 0) {
        return -1;
    }
    *ret_step = search.step;
    return 0;
}
