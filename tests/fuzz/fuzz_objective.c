// SPDX-License-Identifier: Apache-2.0
/* The report of an earlier hub (first line: WINDLASS_OBJECTIVE, from a status or a pod's
 * termination message), then reports of members, with an empty line between rounds: the resulting
 * report fits into a termination message, and the next hub accepts it. */
#include "agent/launch/gang/objective.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOLD_MAX = 3900 };

static void read_rounds(struct objective *objective, int64_t round, char *lines) {
    for (char *next; lines; lines = next, round++) {
        next = strstr(lines, "\n\n");
        if (next) {
            *next = 0;
            next += 2;
        }
        objective_read(objective, round, lines);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct objective_options options = {.name = "a", .interval = 1};
    AUTO(text_freep) char *text = x_strndup((const char *)data, size);
    AUTO(tree_freep) json_t *progress = json_object();
    struct objective objective, next;
    char *newline = strchr(text, '\n');
    objective_init(&objective, &options);
    objective_init(&next, &options);
    if (newline) {
        *newline = 0;
        read_rounds(&objective, 1, newline + 1);
    }
    if (objective_restore(&objective, text) && newline) {
        read_rounds(&objective, 1 << 20, newline + 1);
    }
    objective_add_json(&objective, progress);
    const json_t *told = json_object_get(progress, "objective");
    if (told) {
        AUTO(text_freep) char *said = tree_canonical(told);
        if (strlen(said) > TOLD_MAX || !objective_restore(&next, said) ||
            next.reports != objective.reports || next.curve.count != objective.curve.count) {
            abort();
        }
    }
    objective_release(&next);
    objective_release(&objective);
    return 0;
}
