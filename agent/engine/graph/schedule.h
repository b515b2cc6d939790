/* schedule.h: the steps of a network, their order, and the place of each value in memory, for one
 * combination of input shapes. A slot is a value of the graph, with its place in memory. Life
 * cycle: schedule_new (orders the nodes, removes those whose results are unused or already known,
 * and lets nodes that only change a shape share the bytes of their input: views) -> a device's
 * `prepare` chooses kernels and may fuse steps or give values private layouts -> schedule_place
 * assigns places in one block of memory, reusing it by lifetime -> runs. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/graph/node.h"

struct kernel; /* agent/engine/device/kernel.h */

enum slot_place {
    PLACE_NONE,     /* not used by any step */
    PLACE_CONSTANT, /* host bytes of the model, or computed by shape inference */
    PLACE_INPUT,    /* the caller's tensor */
    PLACE_ARENA,    /* in the block, at `offset` */
    PLACE_VIEW,     /* the bytes of slot `view_of` with another shape */
    PLACE_BOUND,    /* an output in the caller's memory, which is the same in every run */
};

/* A value of the graph in this schedule; same index as graph->values. */
struct schedule_slot {
    enum tensor_type type;
    struct shape shape;
    enum slot_place place;
    const void *constant; /* PLACE_CONSTANT */
    bool is_lasting; /* the constant belongs to the graph, not only to this schedule. So the device
                        may cache data that it computes from it, with its address as the key */
    int view_of;     /* PLACE_VIEW: the slot, which is not a view */
    size_t view_offset; /* PLACE_VIEW: where in that slot's memory it begins; 0 unless a device has
                           made it a view */
    bool viewed;        /* it has views, so it must stay row-major */
    bool is_output;     /* the caller reads it after the run, so it must stay row-major */
    int layout;         /* 0: row-major; anything else is private to the device */
    size_t size_bytes;  /* of its memory; a private layout may need more than the shape */
    size_t offset;      /* PLACE_ARENA */
};

/* One kernel call: a node, or several that a device has fused into one. A step that was fused into
 * another one stays in the list as an empty step, and is not run. */
struct step {
    const struct node *node; /* NULL: the step is empty */
    int input_count, output_count;
    int *inputs;  /* slots; -1: absent. First those of the node, then those that fusion added */
    int *outputs; /* slots */
    const struct kernel *kernel;  /* from the device, while preparing */
    void *state;                  /* private to the kernel, made while preparing */
    void (*release)(void *state); /* frees the state; NULL: not needed */
    size_t scratch_bytes;         /* scratch memory of this step, in the same block */
    size_t scratch_offset;
};

struct schedule {
    struct graph *graph; /* borrowed; devices evict its constants (graph/resident.h) */
    struct arena arena;
    size_t slot_count, step_count;
    struct schedule_slot *slots;
    struct step *steps;
    size_t alignment; /* of each value and scratch memory in the block; 0: 64. Set by a device that
                         needs more, while it prepares; a power of two */
    size_t block_bytes; /* of the block for values of PLACE_ARENA and scratch memory; set by
                           schedule_place */
};

/* facts: the results of shape_infer, which has type, shape and perhaps the known bytes of each
 * value. The schedule takes over the contents of `arena`, which has the
 * known values. The caller frees *ret_schedule. */
NODISCARD int schedule_new(struct graph *graph, const struct fact *facts, struct arena *arena,
                           struct schedule **ret_schedule, struct error *err);
/* Places an output in the caller's memory. To be called before a device prepares. Returns the slot
 * whose bytes will be in that memory: `output` itself or, if it is a view, the slot that it views.
 * -1: the output must be copied, since it is an input, a constant, or a view of a slot that is
 * already bound. */
int schedule_bind(struct schedule *schedule, int output);
/* Frees the states of the kernels, too. */
void schedule_free(struct schedule *schedule);
/* Fails with ERROR_EXHAUSTED if the sum of the sizes overflows. */
NODISCARD int schedule_place(struct schedule *schedule, struct error *err);

/* For fusion, before schedule_place. All take linear time in the number of steps. */

/* The step that computes the slot; NULL: it is an input or a constant. */
struct step *schedule_producer(const struct schedule *schedule, int slot);
/* The only step that reads the slot; NULL: none or several steps read it, or it is viewed or an
 * output. */
struct step *schedule_only_user(const struct schedule *schedule, int slot);
/* Fuses `first` and `second`, the only user of its outputs, into one step with the inputs, kernel
 * and state of first and the outputs of second. The step takes second's place, so that second's
 * other inputs, which the caller adds, are computed before; it is returned. */
struct step *schedule_absorb(struct schedule *schedule, struct step *first, struct step *second);
/* Like schedule_absorb, where `second` reads only output 0 of `first` and has one output. The step
 * gets second's output as output 0, and keeps the further outputs of `first`. No step before
 * `second` may read these. */
struct step *schedule_absorb_output(struct schedule *schedule, struct step *first,
                                    struct step *second);
/* Append an input, or an output, to a step and return its index. */
int schedule_add_input(struct schedule *schedule, struct step *step, int slot);
int schedule_add_output(struct schedule *schedule, struct step *step, int slot);
/* The first step that reads the slot; NULL: none. */
struct step *schedule_first_user(const struct schedule *schedule, int slot);

/* What is known about a node's first inputs, for the functions of engine/ops that read parameters.
 */
struct node_facts {
    struct fact facts[8];
    const struct fact *inputs[8]; /* NULL: the input is absent */
};
/* Returns ret_facts->inputs. */
const struct fact *const *schedule_facts(const struct schedule *schedule, const struct node *node,
                                         struct node_facts *ret_facts);
