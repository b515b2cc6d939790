/* late.h: the operators of OP_LATE on items in host memory. Each has one function, of late_pick.c,
 * late_sequence.c or late_flow.c. */
#pragma once

#include "agent/engine/graph/node.h"
#include "agent/engine/run/stages/parcel.h"
#include "agent/engine/run/stages/stages.h"

struct late_call {
    const struct node *node;
    int input_count, output_count; /* inputs: without what its bodies read */
    struct parcel *const *inputs;  /* of all inputs of the node; NULL: absent */
    struct parcel **outputs;       /* NULL when the function is called, which sets all */
    struct late_body {
        const struct graph *graph;
        struct stages *stages;
        struct parcel *const *around; /* its last inputs */
        int around_count;
    } bodies[2]; /* in the order of the attributes */
    /* stages_run_items */
    int (*run)(struct stages *stages, struct parcel *const *inputs, struct parcel **outputs,
               struct error *err);
};

typedef int late_function(const struct late_call *call, struct error *err);
/* NULL: the operator is not late (late_table.c). */
late_function *late_find(int op_id);

late_function late_compress, late_non_zero, late_non_max_suppression, late_unique;
late_function late_if, late_loop, late_scan, late_sequence_map;
late_function late_identity, late_optional, late_optional_get, late_optional_has;
late_function late_concat_from_sequence, late_split_to_sequence;
late_function late_sequence_at, late_sequence_construct, late_sequence_empty, late_sequence_erase,
    late_sequence_insert, late_sequence_length;

/* ---- what they share (late.c) --------------------------------------------------------------- */

/* Input `index` as a tensor, or as a sequence; INVALID: it is absent or something else. */
NODISCARD int late_tensor(const struct late_call *call, int index, const struct tensor **ret_tensor,
                          struct error *err);
NODISCARD int late_sequence(const struct late_call *call, int index,
                            const struct parcel **ret_items, struct error *err);
bool late_has(const struct late_call *call, int index);
/* Input `index`, one integer or bool; fallback if it is absent. */
NODISCARD int late_number(const struct late_call *call, int index, double fallback,
                          double *ret_number, struct error *err);
/* Joins tensors of one type along an axis; is_new: along a new one. */
NODISCARD int late_join(struct parcel *const *tensors, size_t count, int64_t axis, bool is_new,
                        struct parcel **ret_item, struct error *err);
/* Elements from..from + size along the axis. */
struct late_range {
    int axis;
    int64_t from, size;
    bool is_dropped; /* without the axis, whose size is 1 */
};
NODISCARD int late_cut(const struct tensor *tensor, const struct late_range *range,
                       struct parcel **ret_item, struct error *err);
