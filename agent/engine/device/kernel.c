// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/kernel.h"

#include <stdio.h>
#include <string.h>

/* Appends "Conv (float32)" unless the list already has it. */
static void add_missing(char *list, size_t room, const struct schedule *schedule,
                        const struct step *step) {
    char entry[96];
    int slot = step->inputs && step->input_count ? step->inputs[0] : step->outputs[0];
    snprintf(entry, sizeof entry, "%s (%s)", step->node->op->name,
             slot < 0 ? "?" : tensor_type_name(schedule->slots[slot].type));
    size_t used = strlen(list);
    if (!strstr(list, entry)) {
        snprintf(list + used, room - used, "%s%s", used ? ", " : "", entry);
    }
}

int device_fill_kernels(struct device *device, const struct kernel *const *table,
                        struct schedule *schedule, struct error *err) {
    char missing[400] = "";
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (!step->node || step->kernel) {
            continue;
        }
        step->kernel = table[step->node->op->id];
        if (!step->kernel) {
            add_missing(missing, sizeof missing, schedule, step);
        }
    }
    if (missing[0]) {
        return error_set(err, ERROR_UNSUPPORTED, "device \"%s\" has no kernels for: %s",
                         device->name, missing);
    }
    return 0;
}
