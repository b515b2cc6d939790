// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_state.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void trainer_say(const struct trainer *trainer, const char *format, ...) {
    char line[1024];
    va_list arguments;
    if (trainer->comm->rank == 0 && trainer->job->say) {
        va_start(arguments, format);
        vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        trainer->job->say(line);
    }
}

size_t trainer_scalar_count(const struct trainer *trainer) {
    return SCALAR_COUNT + (trainer->head_count > 1 ? 2 * trainer->head_count : 0);
}

size_t trainer_variable_size(const struct trainer *trainer, size_t variable) {
    return (size_t)shape_count(&trainer->network->values[trainer->graph.variables[variable]].shape);
}

int trainer_statistic_constant(const struct trainer *trainer, size_t statistic) {
    const struct training_norm *norm = &trainer->graph.norms[statistic / 2];
    return statistic % 2 ? norm->variance : norm->mean;
}

size_t trainer_statistic_size(const struct trainer *trainer, size_t statistic) {
    return (size_t)shape_count(
        &trainer->network->values[trainer_statistic_constant(trainer, statistic)].shape);
}

const struct checkpoint_tensor *trainer_find_tensor(const struct checkpoint *checkpoint,
                                                    const struct trainer_tensor *wanted) {
    for (size_t i = 0; i < checkpoint->count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        if (strcmp(tensor->name, wanted->name) == 0 &&
            shape_equal(&tensor->shape, &wanted->shape)) {
            return tensor;
        }
    }
    return NULL;
}

int64_t trainer_count_bad(const struct trainer *trainer) {
    const struct bad_sums *bad = &trainer->bad_sums;
    return (int64_t)(fmaxf(bad->train, bad->most_train) + bad->most_test) + trainer->train->damaged;
}
