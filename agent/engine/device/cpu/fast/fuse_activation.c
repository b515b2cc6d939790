// SPDX-License-Identifier: Apache-2.0
// The steps that read a value, the other operand of a sum or product, and SiLU and HardSwish of a
// value, as one node and as exporters write them.
#include <math.h>

#include "agent/engine/device/cpu/fast/fuse.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/table.h"

int fuse_users(const struct schedule *schedule, int slot, struct step *users[FUSE_USERS_MAX]) {
    const struct schedule_slot *from = &schedule->slots[slot];
    int count = 0;
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        bool reads = false;
        for (int k = 0; step->node && k < step->input_count; k++) {
            reads = reads || step->inputs[k] == slot;
        }
        if (reads && count == FUSE_USERS_MAX) {
            return 0;
        }
        if (reads) {
            users[count++] = step;
        }
    }
    return from->viewed || from->is_output || from->place != PLACE_ARENA ? 0 : count;
}

int fuse_other_operand(const struct schedule *schedule, const struct step *add, int slot) {
    int other = add->inputs[0] == slot ? add->inputs[1] : add->inputs[0];
    const struct shape *shape = &schedule->slots[slot].shape;
    bool fits = add->input_count == 2 && other >= 0 && other != slot &&
                schedule->slots[other].place != PLACE_CONSTANT &&
                shape_equal(shape, &schedule->slots[other].shape);
    return fits ? other : -1;
}

int fuse_factor_beside(const struct schedule *schedule, const struct step *step, int slot) {
    bool has = step_is_op(step, OP_MUL) && (step->inputs[0] == slot || step->inputs[1] == slot);
    return has ? fuse_other_operand(schedule, step, slot) : -1;
}

// Whether the node is clip(x / 6 + 1/2, 0, 1).
static bool is_hard_sigmoid(const struct step *step) {
    return step_is_op(step, OP_HARD_SIGMOID) &&
           fabsf(node_number(step->node, "alpha", 0.2F) - 1.0F / 6) < 1e-6F &&
           node_number(step->node, "beta", 0.5F) == 0.5F;
}

bool fuse_find_activation(const struct vector_ops *ops, const struct schedule *schedule, int slot,
                          struct fuse_activation *ret) {
    struct step *users[FUSE_USERS_MAX];
    int count = fuse_users(schedule, slot, users);
    if (count == 1 && step_is_op(users[0], OP_HARD_SWISH)) {
        *ret = (struct fuse_activation){.run = ops->hard_swish, .last = users[0]};
        return true;
    }
    bool is_hard = count == 2 && is_hard_sigmoid(users[0]);
    if (count != 2 || (!is_hard && !step_is_op(users[0], OP_SIGMOID))) {
        return false;
    }
    int gate = users[0]->outputs[0];
    *ret = (struct fuse_activation){
        .run = is_hard ? ops->hard_swish : ops->silu, .gate = users[0], .last = users[1]};
    return schedule_only_user(schedule, gate) == users[1] &&
           fuse_factor_beside(schedule, users[1], slot) == gate;
}
