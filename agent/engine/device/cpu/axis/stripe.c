// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/axis/stripe.h"

static int64_t stripe_columns(const struct around *around) {
    int64_t columns = AXIS_STRIPE_FLOATS / MAX(around->size, 1);
    return MIN(MAX(columns, AXIS_COLUMNS_MIN), AXIS_COLUMNS_MAX);
}

static int64_t stripes_of_row(const struct around *around) {
    int64_t columns = stripe_columns(around);
    return (around->inner + columns - 1) / columns;
}

int axis_stripe_count(const struct around *around) {
    return (int)(around->outer * stripes_of_row(around));
}

struct axis_stripe axis_stripe_at(const struct around *around, int index) {
    int64_t stripes = stripes_of_row(around), columns = stripe_columns(around);
    int64_t outer = index / stripes, column = index % stripes * columns;
    return (struct axis_stripe){.outer = outer,
                                .first = outer * around->size * around->inner + column,
                                .columns = (int)MIN(columns, around->inner - column)};
}
