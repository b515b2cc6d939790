/* task.h: the state of a step of the schedule on a GPU. A task says in which layout its kernel
 * reads every input and writes every output. If a value has another layout, task_run converts it in
 * the step's scratch memory. So all kernels can be combined, and the choice of layouts affects only
 * speed. */
#pragma once

#include "agent/engine/device/cuda/gpu.h"

/* Of scratch memory, and of its parts: cuDNN and cuBLASLt want workspaces aligned so. */
enum { TASK_ALIGNMENT = 256 };

struct task_operand {
    void *data; /* while the task runs: the elements in `layout` */
    enum tensor_type type;
    struct shape shape;
    enum gpu_layout layout; /* as the kernel reads or writes it */
    bool is_absent;
    bool is_converted; /* the value has the other layout: data is a copy in scratch memory ... */
    size_t offset;     /* ... at this place */
};

struct task {
    int (*run)(struct gpu *gpu, const struct task *task, struct error *err);
    const struct node *node;
    int input_count, output_count;
    struct task_operand *inputs, *outputs;
    void *params;                  /* private to the family; freed with the task ... */
    void (*release)(void *params); /* ... by this function; NULL: by free */
    size_t scratch_bytes;          /* of the kernel; it is before the copies of operands */
    void *scratch;                 /* set while the task runs */
    bool is_host;                  /* it cannot be part of a recording */
};

struct task *task_new(const struct schedule *schedule, const struct step *step);
void task_free(void *task);
/* Adds the copies of operands to the scratch memory, after the layouts of all slots are known. */
void task_finish(const struct schedule *schedule, struct step *step);
/* Runs the task with the inputs and outputs of the call. */
int task_run(const struct call *call, struct error *err);
static inline bool task_has(const struct task *task, int index) {
    return index < task->input_count && !task->inputs[index].is_absent;
}
/* Row-major strides, in elements. */
void task_strides(const struct shape *shape, int64_t ret_strides[TENSOR_RANK_MAX]);
