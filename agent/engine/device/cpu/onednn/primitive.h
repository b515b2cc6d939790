/* primitive.h: a oneDNN primitive with the memory formats of its operands; the state of a step. */
#pragma once

#include "agent/engine/device/cpu/isa.h"
#include "agent/engine/device/cpu/onednn/request.h"
#include "agent/engine/device/kernel.h"

/* A lasting constant in the memory format of a primitive; several schedules use it. */
struct primitive_constant {
    const struct node *node;
    const void *constant;
    dnnl_memory_desc_t wanted;
    dnnl_memory_t memory;
};

struct onednn {
    enum isa isa;
    bool is_open, works; /* the library; engine and stream */
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int block; /* channels of a block, for activations in blocked layout; 0: no operand is blocked
                */
    struct primitive_constant *kept;
    size_t kept_count;
};

struct primitive_operand {
    struct request_arg arg;
    dnnl_memory_t stored;     /* in the format of the engine */
    dnnl_memory_t wanted;     /* in the format of the primitive; NULL: the two are the same */
    dnnl_primitive_t reorder; /* from stored to wanted; for an output from wanted to stored */
    size_t offset, size;      /* of wanted, in the scratch */
    bool is_kept;             /* wanted is a constant that the device keeps */
};

struct primitive {
    struct onednn *onednn; /* borrowed */
    int operand_count;
    dnnl_primitive_t primitive;
    dnnl_memory_t scratchpad;
    size_t scratchpad_offset, scratch_bytes;
    struct primitive_operand operands[REQUEST_ARGS_MAX];
};

/* Whether oneDNN has an implementation better than a plain loop. */
bool primitive_is_offered(struct onednn *onednn, const struct request *request);
/* Fails with dnnl_unimplemented also if oneDNN has only a plain loop. */
NODISCARD dnnl_status_t primitive_new(struct onednn *onednn, const struct schedule *schedule,
                                      const struct step *step, const struct request *request,
                                      struct primitive **ret_primitive);
void primitive_free(void *state);
/* An operand that is elsewhere in the primitive's format: an input that has been reordered, or an
 * output that is left there. */
struct primitive_elsewhere {
    int operand;
    void *memory;
};
/* elsewhere NULL: none. */
NODISCARD dnnl_status_t primitive_run(const struct primitive *primitive, const struct call *call,
                                      const struct primitive_elsewhere *elsewhere);
/* Reorders an input of the call to there, or an output from there. */
NODISCARD dnnl_status_t primitive_reorder(const struct primitive *primitive,
                                          const struct call *call,
                                          const struct primitive_elsewhere *elsewhere);
