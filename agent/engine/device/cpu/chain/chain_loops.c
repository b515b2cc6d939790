// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/chain/chain_loops.h"

const struct chain_loops *chain_loops_get(enum isa isa) {
    static const struct chain_loops *const all[ISA_COUNT] = {
        [ISA_PLAIN] = &chain_loops_plain,
        [ISA_AVX2] = &chain_loops_avx2,
        [ISA_AVX512] = &chain_loops_avx512,
    };
    return all[isa];
}
