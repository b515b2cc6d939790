// SPDX-License-Identifier: Apache-2.0
/* Shows the emulated GPU what each step may touch: the linker puts these functions around the
 * engine's own (--wrap). */
#include "agent/engine/device/cuda/channels_last.h"
#include "agent/engine/device/cuda/task.h"
#include "tests/cuda/emulated.h"

int __real_task_run(const struct call *call, struct error *err);
int __wrap_task_run(const struct call *call, struct error *err);
void __real_task_finish(const struct schedule *schedule, struct step *step);
void __wrap_task_finish(const struct schedule *schedule, struct step *step);

/* The scratch memory of tasks. A task that lost its place to another one is not limited. */
static struct {
    const void *task;
    size_t bytes;
} scratch[1 << 12];

static size_t place_of(const void *task) {
    return ((uintptr_t)task >> 4) % ARRAY_LEN(scratch);
}

void __wrap_task_finish(const struct schedule *schedule, struct step *step) {
    size_t place = place_of(step->state);
    __real_task_finish(schedule, step);
    scratch[place].task = step->state;
    scratch[place].bytes = step->scratch_bytes;
}

static struct emulated_operand operand_of(const struct tensor *tensor,
                                          const struct task_operand *operand) {
    bool is_last = (operand->layout == GPU_CHANNELS_LAST) != operand->is_converted;
    size_t row_major = (size_t)shape_count(&tensor->shape) * tensor_type_size(tensor->type);
    return (struct emulated_operand){tensor->data,
                                     is_last ? channels_last_bytes(&operand->shape) : row_major};
}

int __wrap_task_run(const struct call *call, struct error *err) {
    const struct task *task = call->state;
    struct emulated_operand all[2 * NODE_PORTS_MAX + 1];
    size_t count = 0, place = place_of(task);
    for (int i = 0; i < task->input_count; i++) {
        if (!task->inputs[i].is_absent) {
            all[count++] = operand_of(call->inputs[i], &task->inputs[i]);
        }
    }
    for (int i = 0; i < task->output_count; i++) {
        if (!task->outputs[i].is_absent) {
            all[count++] = operand_of(call->outputs[i], &task->outputs[i]);
        }
    }
    all[count++] = (struct emulated_operand){call->scratch, scratch[place].bytes};
    bool is_known = scratch[place].task == task;
    emulated_operands(is_known ? all : NULL, is_known ? count : 0);
    int result = __real_task_run(call, err);
    emulated_operands(NULL, 0);
    return result;
}

/* As in tests/sanitize.sh: the thread-local blocks of libraries that are opened at run time have no
 * header of which the sanitizer could read their size. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "intercept_tls_get_addr=0";
}
