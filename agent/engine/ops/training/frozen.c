// SPDX-License-Identifier: Apache-2.0
/* Facts: PyTorch's torch/nn/utils/spectral_norm.py (weight_orig, weight_u, weight_v) and
 * parametrizations.py (parametrizations.weight.original, parametrizations.weight.0._u). */
#include "agent/engine/ops/training/frozen.h"

#include "agent/engine/ops/table.h"
#include "agent/engine/ops/training/aliases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512 };

/* ---- norms ---- */

bool frozen_norm(const struct node *node) {
    return node->opset < 7 ? node_integer(node, "is_test", 0) != 0
                           : node_integer(node, "training_mode", 0) == 0 && node->output_count == 1;
}

/* A Dropout in training does not count: F.dropout(x) is one in eval(), too. */
static bool has_norm_in_training(const struct graph *network) {
    for (size_t n = 0; n < network->node_count; n++) {
        const struct node *node = &network->nodes[n];
        if (node->op->id == OP_BATCH_NORMALIZATION && !frozen_norm(node)) {
            return true;
        }
    }
    return false;
}

static void mark_statistics(const struct graph *network, const struct node *node, bool *marked,
                            bool is_marked) {
    for (int i = 3; i < 5 && i < node->input_count; i++) {
        if (node->inputs[i] >= 0 && network->values[node->inputs[i]].is_constant) {
            marked[node->inputs[i]] = is_marked;
        }
    }
}

/* What a norm in training has, too, is averaged. */
static void mark_frozen_norms(const struct graph *network, bool *marked) {
    for (int trains = 0; trains < 2; trains++) {
        for (size_t n = 0; n < network->node_count; n++) {
            const struct node *node = &network->nodes[n];
            if (node->op->id == OP_BATCH_NORMALIZATION && frozen_norm(node) == !trains) {
                mark_statistics(network, node, marked, !trains);
            }
        }
    }
}

static void note_kept(struct graph *network, const bool *marked, struct forms_list *kept) {
    for (size_t n = 0; n < network->node_count; n++) {
        const struct node *node = &network->nodes[n];
        if (node->op->id == OP_BATCH_NORMALIZATION &&
            (marked[node->inputs[3]] || marked[node->inputs[4]])) {
            aliases_note(&network->arena, kept,
                         *node->name ? node->name : network->values[node->inputs[3]].name);
        }
    }
}

static void mark_read_by_norms(const struct graph *network, bool *read) {
    for (size_t n = 0; n < network->node_count; n++) {
        if (network->nodes[n].op->id == OP_BATCH_NORMALIZATION) {
            mark_statistics(network, &network->nodes[n], read, true);
        }
    }
}

/* ---- names ---- */

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), more = strlen(end);
    return length >= more && strcmp(name + length - more, end) == 0;
}

/* Of the weights that a spectral_norm divides; sorted, because a file may have very many. */
struct originals {
    size_t count;
    const char **names;
};

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct originals find_originals(const struct graph *network, struct arena *scratch) {
    struct originals found = {
        .names = arena_array(scratch, network->value_count + 1, sizeof *found.names)};
    for (size_t v = 0; v < network->value_count; v++) {
        const struct value *value = &network->values[v];
        if (value->is_constant && value->name &&
            (ends_with(value->name, "_orig") || ends_with(value->name, ".original"))) {
            found.names[found.count++] = value->name;
        }
    }
    qsort(found.names, found.count, sizeof *found.names, compare_names);
    return found;
}

static bool has_original(const struct originals *originals, const char *name) {
    return bsearch(&name, originals->names, originals->count, sizeof name, compare_names) != NULL;
}

/* "weight_u" beside "weight_orig"; "parametrizations.weight.0._u" beside
 * "parametrizations.weight.original". */
static bool is_of_spectral_norm(const struct originals *originals, const struct value *value) {
    char name[NAME_BYTES];
    int base = (int)strlen(value->name) - 2; /* without "_u" */
    bool is_vector = ends_with(value->name, "_u") || ends_with(value->name, "_v");
    if (!is_vector || value->shape.rank != 1 || base > NAME_BYTES - 16) {
        return false;
    }
    if (base == 0 || value->name[base - 1] != '.') {
        (void)snprintf(name, sizeof name, "%.*s_orig", base, value->name);
        return has_original(originals, name);
    }
    int end = base - 1; /* of the number before it */
    while (end > 0 && value->name[end - 1] >= '0' && value->name[end - 1] <= '9') {
        end--;
    }
    bool has_number = end < base - 1 && end > 0 && value->name[end - 1] == '.';
    (void)snprintf(name, sizeof name, "%.*soriginal", end, value->name);
    return has_number && strstr(name, "parametrizations.") && has_original(originals, name);
}

static bool is_running(const char *name) {
    return ends_with(name, ".running_mean") || ends_with(name, ".running_var");
}

void frozen_mark(struct graph *network, struct forms_list *kept) {
    struct arena scratch = {0};
    bool *marked = arena_array(&scratch, network->value_count, sizeof *marked);
    bool *read = arena_array(&scratch, network->value_count, sizeof *read);
    const struct originals originals = find_originals(network, &scratch);
    mark_read_by_norms(network, read);
    if (has_norm_in_training(network)) {
        mark_frozen_norms(network, marked);
        note_kept(network, marked, kept);
    }
    for (size_t v = 0; v < network->value_count; v++) {
        struct value *value = &network->values[v];
        bool is_named = value->is_constant && value->name && !read[v];
        if (marked[v] ||
            (is_named && (is_running(value->name) || is_of_spectral_norm(&originals, value)))) {
            value->is_literal = true;
        }
    }
    arena_release(&scratch);
}
