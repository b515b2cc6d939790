// SPDX-License-Identifier: Apache-2.0
/* Rounds float32 to the values of bfloat16. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"

#include <math.h>
#include <string.h>

enum { GRAIN = 1 << 14 };

struct work {
    const float *x;
    float *y;
};

/* Rounds to the upper half of the bits, to nearest even; a carry into the exponent is correct. NaN
 * must not become infinity. */
static void round_body(void *context, int64_t first, int64_t last) {
    const struct work *work = context;
    for (int64_t i = first; i < last; i++) {
        uint32_t bits, odd;
        memcpy(&bits, &work->x[i], sizeof bits);
        odd = bits >> 16 & 1;
        bits =
            isnan(work->x[i]) ? (bits | 0x400000) & 0xffff0000 : (bits + 0x7fff + odd) & 0xffff0000;
        memcpy(&work->y[i], &bits, sizeof bits);
    }
}

static int round_bfloat_run(const struct call *call, struct error *err UNUSED) {
    struct work work = {call->inputs[0]->data, call->outputs[0]->data};
    threads_run(cpu_threads(call), shape_count(&call->inputs[0]->shape), GRAIN, round_body, &work);
    return 0;
}
const struct kernel reference_round_bfloat = {"reference round_bfloat", round_bfloat_run};
