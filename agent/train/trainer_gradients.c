// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_gradients.h"

#include "agent/train/trainer_state.h"

/* The elements of the block. The gaps between gradients are 0 (buckets.h) and do not matter. */
static size_t block_count(const struct trainer *trainer) {
    return trainer->buckets.places[trainer->graph.variable_count].start / sizeof(float);
}

static struct tensor vector(size_t count, float *data) {
    return (struct tensor){TENSOR_FLOAT32, {1, {(int64_t)count}}, data, false};
}

/* Inputs and outputs of the sum are bound; it is in place. */
static int open_sum(struct trainer *trainer, struct error *err) {
    struct gradient_block *block = &trainer->block;
    size_t count = block_count(trainer);
    const struct tensor inputs[] = {vector(count, NULL), vector(count, NULL)};
    if (trainer_device_floats(trainer, count, &block->kept, err) < 0) {
        return -1;
    }
    training_optimizer_sum_graph((int64_t)count, &block->sum.graph);
    if (training_open(trainer->device, &block->sum.graph, inputs, (const bool[]){true},
                      &block->sum.training, err) < 0) {
        return -1;
    }
    training_bind_input(block->sum.training, 0, block->kept);
    training_bind_input(block->sum.training, 1, trainer->gradients);
    return 0;
}

int trainer_sum_part(struct trainer *trainer, bool is_first, bool is_last, struct error *err) {
    struct gradient_block *block = &trainer->block;
    size_t count = block_count(trainer);
    const struct tensor inputs[] = {vector(count, NULL), vector(count, NULL)};
    struct tensor output;
    if (!block->sum.training && open_sum(trainer, err) < 0) {
        return -1;
    }
    if (is_first &&
        trainer->device->ops->zero(trainer->device, block->kept, count * sizeof(float), err) < 0) {
        return -1;
    }
    training_bind(block->sum.training, 0, is_last ? trainer->gradients : block->kept);
    return training_run(block->sum.training, inputs, &output, NULL, err);
}

int trainer_clip(struct trainer *trainer, struct error *err) {
    struct block_pass *norm = &trainer->block.norm;
    size_t count = block_count(trainer);
    const struct tensor input = vector(count, NULL);
    struct tensor output;
    if (!norm->training) {
        training_optimizer_norm_graph((int64_t)count, &norm->graph);
        if (training_open(trainer->device, &norm->graph, &input, (const bool[]){false},
                          &norm->training, err) < 0) {
            return -1;
        }
        training_bind_input(norm->training, 0, trainer->gradients);
    }
    if (training_run(norm->training, &input, &output, NULL, err) < 0) {
        return -1;
    }
    return optimizer_scale(trainer->optimizer, (double)*(const float *)output.data, err);
}

void trainer_free_block(struct trainer *trainer) {
    struct block_pass *passes[] = {&trainer->block.norm, &trainer->block.sum};
    for (size_t i = 0; i < ARRAY_LEN(passes); i++) {
        training_free(passes[i]->training);
        graph_release(&passes[i]->graph);
    }
    if (trainer->block.kept) {
        trainer->device->ops->free(trainer->device, trainer->block.kept);
    }
}
