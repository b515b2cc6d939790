/* kernel.h: kernels, and how a device chooses one for each step.
 *
 * How a fast kernel takes over a node. For each combination of input shapes the engine makes a
 * schedule (agent/engine/graph/schedule.h) and calls `prepare` once, with all shapes and constants
 * known. `prepare` must set step->kernel of every step that is not dropped; it starts from the
 * device's kernel table, one row per operator. Then it may, for each step,
 *   - set another kernel, with step->state and step->release (reordered weights, a plan) and
 *     step->scratch_bytes;
 *   - fuse neighbours: schedule_only_user finds the step behind, schedule_absorb makes one step of
 *     both, schedule_add_input brings the second's other inputs (conv + relu, conv + add); a step
 *     before (Pad in front of Conv) is fused by replacing inputs[0] and dropping that step
 *     (step->node = NULL) when schedule_only_user says that it has no other reader;
 *   - give a slot a private layout: slot->layout != 0 and slot->size_bytes. Only when every step
 *     that touches it knows the layout, and never for slots with `viewed` or `is_output`.
 * Memory is laid out afterwards, so fused values take no memory. State that does not depend on
 * shapes may be kept in the device, keyed by the address of a constant's bytes, but only for slots
 * with `is_lasting`: other constants are freed with their schedule, and their addresses may be
 * reused. */
#pragma once

#include "agent/engine/device.h"
#include "agent/engine/graph/schedule.h"
#include "agent/engine/graph/shape_infer.h"

/* The arguments of a kernel. Inputs and outputs are in the order of the step; NULL where absent. */
struct call {
    struct device *device;
    const struct node *node;
    void *state;
    void *scratch; /* step->scratch_bytes of device memory, aligned to 64 bytes or
                      schedule->alignment, not cleared */
    int input_count, output_count;
    const struct tensor *const *inputs;
    struct tensor *const *outputs; /* shapes are set; row-major unless the slot has a layout */
};

struct kernel {
    const char *name; /* "reference Conv", for profiles and error messages */
    int (*run)(const struct call *call, struct error *err);
};

/* Sets the kernel of every step that has none to table[op id]. ERROR_UNSUPPORTED names all
 * operators without a row in one line. For use in `prepare`. */
NODISCARD int device_fill_kernels(struct device *device, const struct kernel *const *table,
                                  struct schedule *schedule, struct error *err);

/* Runs one node with the reference kernels on host memory (an evaluate_function). */
NODISCARD int device_evaluate(const struct node *node, const struct tensor *const *inputs,
                              struct tensor *const *outputs, struct error *err);
