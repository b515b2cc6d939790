// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/decompose.h"

#include "agent/engine/ops/rewrite/expand.h"

/* Not BatchNormalization with training_mode: training_graph.c replaces it in every form. */
static expand_rule *const rules[OP_COUNT] = {
    [OP_ATTENTION] = expand_attention,
    [OP_CAST_LIKE] = expand_cast_like,
    [OP_MAX_POOL] = expand_max_pool,
    [OP_MEAN_VARIANCE_NORMALIZATION] = expand_mean_variance,
    [OP_OLD_BINARY] = expand_old_binary,
    [OP_PAD] = expand_pad,
    [OP_RMS_NORMALIZATION] = expand_rms_normalization,
    [OP_ROTARY_EMBEDDING] = expand_rotary,
    [OP_SIMPLIFIED_LAYER_NORMALIZATION] = expand_simplified_norm,
    [OP_SWIGLU] = expand_swiglu,
    [OP_SWISH] = expand_swish,
};

int decompose(const struct graph *network, struct graph *ret_graph, struct error *err) {
    return expand_by(rules, network, ret_graph, err);
}
