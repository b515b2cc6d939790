// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/cost.h"

#include "agent/engine/ops/infer/einsum.h"
#include "agent/engine/ops/infer/recurrent.h"
#include "agent/engine/ops/infer/sample.h"
#include "agent/engine/ops/infer/signal.h"
#include "agent/engine/ops/infer/window.h"
#include "agent/engine/ops/ml/ml_tree.h"
#include "agent/engine/ops/table.h"

#include <math.h>

/* The number of elements. Dimensions of 0 count as 1, because a loop over nothing takes time,
 * too. */
static double size_of(const struct fact *fact) {
    double size = 1;
    for (int i = 0; fact && i < fact->shape.rank; i++) {
        size *= (double)MAX(fact->shape.dims[i], 1);
    }
    return fact ? size : 0;
}

static double last_of(const struct fact *fact, int from_end) {
    int at = fact->shape.rank - from_end;
    return at < 0 ? 1 : (double)MAX(fact->shape.dims[at], 1);
}

/* For DFT: numbers along the axis. */
static double of_axis(const struct node *node, const struct fact *const *inputs) {
    struct dft dft;
    struct error err = {0};
    return dft_params(node, inputs, &dft, &err) < 0 ? 1 : (double)MAX(dft.size, 1);
}

static double of_pool(const struct node *node, const struct fact *const *inputs,
                      const struct fact *outputs) {
    struct window window;
    struct error err = {0};
    double work = size_of(&outputs[0]);
    if (window_of_pool(node, inputs, &window, &err) < 0) {
        return work;
    }
    for (int i = 0; i < WINDOW_RANK; i++) {
        work *= (double)MAX(MIN(window.kernel[i], window.in[i]), 1);
    }
    return work;
}

static double of_einsum(const struct node *node, const struct fact *const *inputs) {
    const struct shape *shapes[EINSUM_OPERANDS_MAX];
    struct error err = {0};
    struct einsum einsum;
    double work = node->input_count;
    for (int i = 0; i < node->input_count; i++) {
        shapes[i] = &inputs[i]->shape;
    }
    if (einsum_params(node, shapes, &einsum, &err) < 0) {
        return 0;
    }
    for (int i = 0; i < einsum.label_count; i++) {
        work *= (double)MAX(einsum.sizes[i], 1);
    }
    return work;
}

static double of_recurrent(const struct node *node, const struct fact *const *inputs) {
    struct recurrent r;
    struct error err = {0};
    if (recurrent_params(node, inputs, &r, &err) < 0) {
        return 0;
    }
    return (double)r.steps * (double)r.batch * (double)r.directions * (double)r.gates *
           (double)r.hidden * (double)(r.input + r.hidden);
}

/* By default a bin is sampled once for each of its pixels. */
static double of_regions(const struct node *node, const struct fact *x,
                         const struct fact *outputs) {
    struct roi_align roi = roi_align_params(node);
    double rows = (double)roi.samples, columns = (double)roi.samples;
    if (!roi.samples && x->shape.rank == 4) {
        rows = ROI_IMAGES_MAX * (double)x->shape.dims[2] / (double)MAX(roi.height, 1) + 1;
        columns = ROI_IMAGES_MAX * (double)x->shape.dims[3] / (double)MAX(roi.width, 1) + 1;
    }
    return size_of(&outputs[0]) * rows * columns;
}

static double rows_of(const struct fact *x) {
    return x->shape.rank > 1 ? (double)MAX(x->shape.dims[0], 1) : 1;
}

static double of_trees(const struct node *node, const struct fact *x) {
    AUTO(ml_trees_freep) struct ml_trees *own = NULL;
    struct ml_trees *trees;
    struct error err = {0};
    return ml_trees_of(node, &trees, &own, &err) < 0 ? 0 : rows_of(x) * trees->row_steps;
}

/* Each element is searched in a list of integers or floats from the beginning. */
static double of_search(const struct node *node, const struct fact *x, const char *integers,
                        const char *floats) {
    size_t count, others;
    (void)node_integers(node, integers, &count);
    (void)ml_numbers(node, floats, &others);
    return size_of(x) * (double)(count + others);
}

static double of_ml(const struct node *node, const struct fact *x) {
    struct ml_linear linear;
    struct ml_svm svm;
    struct error err = {0};
    switch (node->op->id) {
    case OP_ML_TREE_ENSEMBLE_CLASSIFIER:
    case OP_ML_TREE_ENSEMBLE_REGRESSOR:
        return of_trees(node, x);
    case OP_ML_LINEAR_CLASSIFIER:
    case OP_ML_LINEAR_REGRESSOR:
        return ml_linear_read(node, &linear, &err) < 0
                   ? 0
                   : rows_of(x) * (double)linear.features * (double)linear.targets;
    case OP_ML_SVM_CLASSIFIER:
    case OP_ML_SVM_REGRESSOR:
        return ml_svm_read(node, &svm, &err) < 0
                   ? 0
                   : rows_of(x) * (double)svm.vectors * (double)(svm.features + svm.classes);
    case OP_ML_LABEL_ENCODER:
        return of_search(node, x, "keys_int64s", "keys_floats");
    case OP_ML_ONE_HOT_ENCODER:
        return of_search(node, x, "cats_int64s", "");
    default:
        return 0;
    }
}

double cost_of_node(const struct node *node, const struct fact *const *inputs,
                    const struct fact *outputs) {
    const struct fact *x = node->input_count ? inputs[0] : NULL;
    if (node->op->flags & (OP_CONVOLVES | OP_SPREADS)) {
        double taps = size_of(inputs[1]) / (double)MAX(inputs[1]->shape.dims[0], 1);
        return taps * (node->op->flags & OP_CONVOLVES ? size_of(&outputs[0]) : size_of(x));
    }
    if (node->op->flags & OP_MULTIPLIES) {
        return size_of(&outputs[0]) * last_of(x, node_integer(node, "transA", 0) ? 2 : 1);
    }
    if (node->op->flags & OP_ML) {
        return of_ml(node, x);
    }
    switch (node->op->id) {
    case OP_AVERAGE_POOL:
    case OP_MAX_POOL:
    case OP_MAX_POOL_INDICES:
        return of_pool(node, inputs, outputs);
    case OP_DET:
        return size_of(x) * last_of(x, 1);
    case OP_DFT:
        return size_of(&outputs[0]) * of_axis(node, inputs);
    case OP_STFT:
        return size_of(&outputs[0]) * last_of(&outputs[0], 2);
    case OP_EINSUM:
        return of_einsum(node, inputs);
    case OP_GRU:
    case OP_LSTM:
    case OP_RNN:
        return of_recurrent(node, inputs);
    case OP_GRID_SAMPLE:
        return size_of(&outputs[0]) * 16;
    case OP_ROI_ALIGN:
        return of_regions(node, x, outputs);
    case OP_LRN:
        return size_of(x) * (double)MIN(node_integer(node, "size", 1), x->shape.dims[1]);
    case OP_RESIZE:
    case OP_UPSAMPLE:
        return size_of(&outputs[0]) * pow(4, x->shape.rank);
    case OP_TOP_K:
        return size_of(x) * 32;
    default:
        return 0;
    }
}

static double moved_by(const struct node *node, const struct fact *const *inputs,
                       const struct fact *outputs) {
    double count = 0;
    for (int i = 0; i < node->input_count; i++) {
        count += node->op->flags & (OP_VIEW | OP_FROM_SHAPE) ? 0 : size_of(inputs[i]);
    }
    for (int i = 0; i < node->output_count; i++) {
        count += size_of(&outputs[i]);
    }
    return count;
}

double cost_of_graph(const struct graph *graph, const struct fact *facts) {
    struct arena scratch = {0};
    const struct fact **inputs = arena_array(&scratch, NODE_PORTS_MAX, sizeof *inputs);
    struct fact *outputs = arena_array(&scratch, NODE_PORTS_MAX, sizeof *outputs);
    double work = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        bool is_known = true;
        for (int k = 0; k < node->input_count; k++) {
            inputs[k] = node->inputs[k] < 0 ? NULL : &facts[node->inputs[k]];
        }
        for (int k = 0; k < node->output_count; k++) {
            outputs[k] = node->outputs[k] < 0 ? (struct fact){0} : facts[node->outputs[k]];
            is_known &= outputs[k].known != NULL;
        }
        work +=
            is_known ? 0 : cost_of_node(node, inputs, outputs) + moved_by(node, inputs, outputs);
    }
    arena_release(&scratch);
    return work;
}
