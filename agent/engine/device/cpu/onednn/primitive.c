// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/onednn/primitive.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

void primitive_free(void *state) {
    struct primitive *primitive = state;
    if (!primitive) {
        return;
    }
    for (int i = 0; i < primitive->operand_count; i++) {
        struct primitive_operand *operand = &primitive->operands[i];
        dnnl.memory_destroy(operand->stored);
        if (!operand->is_kept) {
            dnnl.memory_destroy(operand->wanted);
        }
        dnnl.primitive_destroy(operand->reorder);
    }
    dnnl.memory_destroy(primitive->scratchpad);
    dnnl.primitive_destroy(primitive->primitive);
    free(primitive);
}

static dnnl_status_t memory_new(struct onednn *onednn, const dnnl_memory_desc_t *description,
                                void *data, dnnl_memory_t *ret_memory) {
    return dnnl.memory_create(ret_memory, description, onednn->engine, data);
}

static dnnl_status_t reorder_new(struct onednn *onednn, const dnnl_memory_desc_t *from,
                                 const dnnl_memory_desc_t *to, dnnl_primitive_t *ret_reorder) {
    dnnl_primitive_desc_t description = NULL;
    dnnl_status_t status = dnnl.reorder_primitive_desc_create(&description, from, onednn->engine,
                                                              to, onednn->engine, NULL);
    if (status == dnnl_success) {
        status = dnnl.primitive_create(ret_reorder, description);
        dnnl.primitive_desc_destroy(description);
    }
    return status;
}

static dnnl_status_t reorder_run(struct onednn *onednn, dnnl_primitive_t reorder,
                                 dnnl_memory_t from, dnnl_memory_t to) {
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl.primitive_execute(reorder, onednn->stream, ARRAY_LEN(args), args);
}

/* The constant in the wanted format: from the cache, or made now. */
static dnnl_status_t keep(struct onednn *onednn, const struct node *node, const void *constant,
                          const dnnl_memory_desc_t *wanted, struct primitive_operand *operand) {
    for (size_t i = 0; i < onednn->kept_count; i++) {
        const struct primitive_constant *kept = &onednn->kept[i];
        if (kept->node == node && kept->constant == constant &&
            dnnl.memory_desc_equal(&kept->wanted, wanted)) {
            operand->wanted = kept->memory;
            operand->is_kept = true;
            return dnnl_success;
        }
    }
    struct primitive_constant made = {node, constant, *wanted, NULL};
    dnnl_status_t status = memory_new(onednn, wanted, DNNL_MEMORY_ALLOCATE, &made.memory);
    if (status == dnnl_success) {
        status = dnnl.memory_set_data_handle(operand->stored, (void *)(uintptr_t)constant);
    }
    if (status == dnnl_success) {
        status = reorder_run(onednn, operand->reorder, operand->stored, made.memory);
    }
    if (status == dnnl_success) {
        status = dnnl.stream_wait(onednn->stream);
    }
    if (status != dnnl_success) {
        dnnl.memory_destroy(made.memory);
        return status;
    }
    onednn->kept = x_realloc_array(onednn->kept, onednn->kept_count + 1, sizeof *onednn->kept);
    onednn->kept[onednn->kept_count++] = made;
    operand->wanted = made.memory;
    operand->is_kept = true;
    return dnnl_success;
}

static size_t reserve(struct primitive *primitive, const dnnl_memory_desc_t *description) {
    size_t offset = primitive->scratch_bytes;
    size_t size = dnnl.memory_desc_get_size(description);
    primitive->scratch_bytes += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return offset;
}

static bool is_output(const struct primitive_operand *operand) {
    return operand->arg.input <= REQUEST_OUTPUT;
}

static dnnl_status_t prepare_operand(struct primitive *primitive, const struct schedule *schedule,
                                     const struct step *step, struct primitive_operand *operand,
                                     const dnnl_memory_desc_t *wanted) {
    struct onednn *onednn = primitive->onednn;
    const dnnl_memory_desc_t *stored = &operand->arg.stored;
    bool is_result = is_output(operand);
    dnnl_status_t status = memory_new(onednn, stored, DNNL_MEMORY_NONE, &operand->stored);
    if (status != dnnl_success || dnnl.memory_desc_equal(wanted, stored)) {
        return status;
    }
    status = reorder_new(onednn, is_result ? wanted : stored, is_result ? stored : wanted,
                         &operand->reorder);
    if (status != dnnl_success) {
        return status;
    }
    const struct schedule_slot *slot =
        is_result ? NULL : &schedule->slots[step->inputs[operand->arg.input]];
    if (slot && slot->is_lasting) {
        return keep(onednn, step->node, slot->constant, wanted, operand);
    }
    operand->offset = reserve(primitive, wanted);
    operand->size = dnnl.memory_desc_get_size(wanted);
    return memory_new(onednn, wanted, DNNL_MEMORY_NONE, &operand->wanted);
}

static dnnl_status_t gpu_prepare(struct primitive *primitive, const struct schedule *schedule,
                                 const struct step *step, const struct request *request,
                                 const_dnnl_primitive_desc_t description) {
    dnnl_status_t status = dnnl.primitive_create(&primitive->primitive, description);
    for (int i = 0; i < request->arg_count && status == dnnl_success; i++) {
        struct primitive_operand *operand = &primitive->operands[primitive->operand_count++];
        operand->arg = request->args[i];
        status = prepare_operand(
            primitive, schedule, step, operand,
            dnnl.primitive_desc_query_md(description, dnnl_query_exec_arg_md, operand->arg.name));
    }
    if (status != dnnl_success) {
        return status;
    }
    const dnnl_memory_desc_t *scratchpad =
        dnnl.primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
    primitive->scratchpad_offset = reserve(primitive, scratchpad);
    return memory_new(primitive->onednn, scratchpad, DNNL_MEMORY_NONE, &primitive->scratchpad);
}

/* oneDNN's own plain loops ("ref") are slower than ours. */
static bool is_plain(const_dnnl_primitive_desc_t description) {
    const char *name = "";
    dnnl.primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name);
    return strstr(name, "ref") && !strstr(name, "jit") && !strstr(name, "gemm");
}

static dnnl_status_t describe(struct onednn *onednn, const struct request *request,
                              dnnl_primitive_desc_t *ret_description) {
    dnnl_primitive_attr_t attributes;
    dnnl_status_t status = dnnl.primitive_attr_create(&attributes);
    if (status != dnnl_success) {
        return status;
    }
    dnnl_primitive_desc_t hint = NULL;
    if (request->has_hint) {
        status =
            dnnl.primitive_desc_create(&hint, &request->hint, attributes, onednn->engine, NULL);
    }
    if (status != dnnl_success) {
        dnnl.primitive_attr_destroy(attributes);
        return status;
    }
    /* The plan provides the scratchpad, so it is counted there and shared between steps. */
    dnnl.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    status = dnnl.primitive_desc_create(ret_description, &request->description, attributes,
                                        onednn->engine, hint);
    dnnl.primitive_attr_destroy(attributes);
    dnnl.primitive_desc_destroy(hint);
    if (status == dnnl_success && is_plain(*ret_description)) {
        dnnl.primitive_desc_destroy(*ret_description);
        return dnnl_unimplemented;
    }
    return status;
}

static dnnl_status_t at(dnnl_memory_t memory, const void *scratch, size_t offset) {
    return dnnl.memory_set_data_handle(memory, (void *)((uintptr_t)scratch + offset));
}

static dnnl_status_t set_stored(const struct primitive_operand *operand, const struct call *call) {
    int input = operand->arg.input;
    void *data = is_output(operand) ? call->outputs[REQUEST_OUTPUT - input]->data
                                    : call->inputs[input]->data;
    return dnnl.memory_set_data_handle(operand->stored, data);
}

static dnnl_status_t run_operand(const struct primitive *primitive, const struct call *call,
                                 const struct primitive_operand *operand) {
    dnnl_status_t status = set_stored(operand, call);
    if (status == dnnl_success && operand->wanted && !operand->is_kept) {
        status = at(operand->wanted, call->scratch, operand->offset);
        if (status == dnnl_success && !is_output(operand)) {
            status =
                reorder_run(primitive->onednn, operand->reorder, operand->stored, operand->wanted);
        }
    }
    return status;
}

dnnl_status_t primitive_run(const struct primitive *primitive, const struct call *call,
                            const struct primitive_elsewhere *elsewhere) {
    dnnl_exec_arg_t args[REQUEST_ARGS_MAX + 1] = {{DNNL_ARG_SCRATCHPAD, primitive->scratchpad}};
    dnnl_status_t status = at(primitive->scratchpad, call->scratch, primitive->scratchpad_offset);
    int other = elsewhere ? elsewhere->operand : -1;
    for (int i = 0; i < primitive->operand_count && status == dnnl_success; i++) {
        const struct primitive_operand *operand = &primitive->operands[i];
        args[i + 1] = (dnnl_exec_arg_t){operand->arg.name,
                                        operand->wanted ? operand->wanted : operand->stored};
        status = i == other ? dnnl.memory_set_data_handle(operand->wanted, elsewhere->memory)
                            : run_operand(primitive, call, operand);
    }
    if (status == dnnl_success) {
        status = dnnl.primitive_execute(primitive->primitive, primitive->onednn->stream,
                                        primitive->operand_count + 1, args);
    }
    for (int i = 0; i < primitive->operand_count && status == dnnl_success; i++) {
        const struct primitive_operand *operand = &primitive->operands[i];
        if (i != other && is_output(operand) && operand->wanted) {
            status =
                reorder_run(primitive->onednn, operand->reorder, operand->wanted, operand->stored);
        }
    }
    return status == dnnl_success ? dnnl.stream_wait(primitive->onednn->stream) : status;
}

dnnl_status_t primitive_reorder(const struct primitive *primitive, const struct call *call,
                                const struct primitive_elsewhere *elsewhere) {
    const struct primitive_operand *operand = &primitive->operands[elsewhere->operand];
    bool is_out = is_output(operand);
    dnnl_status_t status = set_stored(operand, call);
    if (status == dnnl_success) {
        status = dnnl.memory_set_data_handle(operand->wanted, elsewhere->memory);
    }
    if (status == dnnl_success) {
        status = reorder_run(primitive->onednn, operand->reorder,
                             is_out ? operand->wanted : operand->stored,
                             is_out ? operand->stored : operand->wanted);
    }
    return status == dnnl_success ? dnnl.stream_wait(primitive->onednn->stream) : status;
}

bool primitive_is_offered(struct onednn *onednn, const struct request *request) {
    dnnl_primitive_desc_t description;
    if (describe(onednn, request, &description) != dnnl_success) {
        return false;
    }
    dnnl.primitive_desc_destroy(description);
    return true;
}

dnnl_status_t primitive_new(struct onednn *onednn, const struct schedule *schedule,
                            const struct step *step, const struct request *request,
                            struct primitive **ret_primitive) {
    dnnl_primitive_desc_t description;
    dnnl_status_t status = describe(onednn, request, &description);
    if (status != dnnl_success) {
        return status;
    }
    struct primitive *primitive = x_calloc(1, sizeof *primitive);
    primitive->onednn = onednn;
    status = gpu_prepare(primitive, schedule, step, request, description);
    dnnl.primitive_desc_destroy(description);
    if (status != dnnl_success) {
        primitive_free(primitive);
        return status;
    }
    *ret_primitive = primitive;
    return dnnl_success;
}
