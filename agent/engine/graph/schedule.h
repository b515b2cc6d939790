/* schedule.h: what runs, in which order, and where each value is, for one combination of input
 * shapes. Life: schedule_new (order; dead and known nodes are gone, views resolved) -> a device's
 * `prepare` picks kernels and may fuse steps or give values private layouts -> schedule_place lays
 * everything into one block of memory, reusing it by lifetime -> runs. */
#pragma once

#include "agent/engine/graph.h"

struct kernel; /* agent/engine/device/kernel.h */

enum place {
    PLACE_NONE,     /* not used by any step */
    PLACE_CONSTANT, /* host bytes of the model, or known since shape inference */
    PLACE_INPUT,    /* the caller's tensor */
    PLACE_ARENA,    /* in the block, at `offset` */
    PLACE_VIEW,     /* the bytes of slot `view_of`, under another shape */
    PLACE_BOUND,    /* an output, in memory of the caller's that stays from run to run */
};

/* A value of the graph in this schedule; same index as graph->values. */
struct slot {
    enum tensor_type type;
    struct shape shape;
    enum place place;
    const void *constant; /* PLACE_CONSTANT */
    bool is_lasting; /* the constant lives as long as the graph, not only as this schedule: what is
                        made of it may be kept in the device, keyed by its address */
    int view_of;     /* PLACE_VIEW: a slot that is not a view itself */
    bool viewed;     /* views of it exist: it must stay row-major */
    bool is_output;  /* the caller reads it after the run: it must stay row-major */
    int layout;      /* 0: row-major; anything else is private to the device */
    size_t size_bytes; /* of the memory it gets; a private layout may need more than the shape */
    size_t offset;     /* PLACE_ARENA */
};

/* One kernel call: a node, or several that a device has fused into one. */
struct step {
    const struct node *node; /* NULL: dropped, its work was taken over by another step */
    int input_count, output_count;
    int *inputs;  /* slots; -1: absent. The node's own first, then those a fusion added */
    int *outputs; /* slots */
    const struct kernel *kernel;  /* from the device, while preparing */
    void *state;                  /* the kernel's, made while preparing */
    void (*release)(void *state); /* ends the state; NULL if it needs no end */
    size_t scratch_bytes;         /* working memory of this step, from the same block */
    size_t scratch_offset;
};

struct schedule {
    const struct graph *graph;
    struct arena arena;
    size_t slot_count, step_count;
    struct slot *slots;
    struct step *steps;
    size_t block_bytes; /* set by schedule_place */
};

/* Takes what shape_infer found. `arena` (which holds known values) moves into the schedule. */
NODISCARD int schedule_new(const struct graph *graph, const struct fact *facts, struct arena *arena,
                           struct schedule **ret_schedule, struct error *err);
/* Has the output made in the caller's memory, before a device prepares. Returns the slot that is
 * there: the output's own, or that it is a view of. -1: it is an input, a constant, or a view of
 * what is bound already, and must be copied. */
int schedule_bind(struct schedule *schedule, int output);
/* Releases the kernels' states, too. */
void schedule_free(struct schedule *schedule);
/* Fails with ERROR_EXHAUSTED when the sum does not fit into memory sizes. */
NODISCARD int schedule_place(struct schedule *schedule, struct error *err);

/* For fusing, before schedule_place. All are linear in the number of steps. */

/* The step that makes the slot; NULL for inputs and constants. */
struct step *schedule_maker(const struct schedule *schedule, int slot);
/* The one step that reads the slot; NULL if none or several do, or if it is viewed or an output. */
struct step *schedule_only_user(const struct schedule *schedule, int slot);
/* Makes one step of `first` and of `second`, the only user of its outputs: the inputs (and kernel,
 * state) of first, the outputs of second. It is at second's place, so that second's other
 * inputs, which the caller adds, are ready; returned, because it is there now. */
struct step *schedule_absorb(struct schedule *schedule, struct step *first, struct step *second);
/* Likewise, where `second` reads output 0 of `first` alone and makes one: the further outputs of
 * `first` stay. No step in front of `second` may read them. */
struct step *schedule_absorb_output(struct schedule *schedule, struct step *first,
                                    struct step *second);
/* Append an input, or an output, to a step and return its index. */
int schedule_add_input(struct schedule *schedule, struct step *step, int slot);
int schedule_add_output(struct schedule *schedule, struct step *step, int slot);
/* Of the steps that read the slot the first; NULL: none does. */
struct step *schedule_first_user(const struct schedule *schedule, int slot);
