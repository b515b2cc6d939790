/* training.h: one step of training, again and again: a graph (training_graph.h's, but any will do)
 * prepared for one combination of input shapes, some of whose outputs, the gradients, are made in
 * memory of the caller's: straight into the buffers that are sent. One thread at a time. */
#pragma once

#include "agent/engine/run/plan.h"

struct training;

/* inputs: as training_run's; here their shapes count, and the numbers of small ones that shapes
 * depend on. is_bound: one entry per output. `graph` and `device` outlive the training. */
NODISCARD int training_open(struct device *device, const struct graph *graph,
                            const struct tensor *inputs, const bool *is_bound,
                            struct training **ret_training, struct error *err);
void training_free(struct training *training);
void training_freep(struct training **training);

/* What an output is: type and shape; no data. */
struct tensor training_output(const struct training *training, size_t output);
/* The index of the step that completes a bound output: what is made early is sent early. */
size_t training_made_at(const struct training *training, size_t output);
/* What a step computes, for who measures; NULL: nothing, its work was taken over by another. */
const struct node *training_node(const struct training *training, size_t step);
/* For each bound output before the first run: device memory of its size, 64-byte aligned, which
 * stays until the end or until another is bound. */
void training_bind(struct training *training, size_t output, void *memory);
/* An input that lies in device memory and is read there: weights, say (plan_bind_input). */
void training_bind_input(struct training *training, size_t input, void *memory);

/* inputs[i] belongs to input i (borrowed, not changed). outputs[i] are filled: bound ones with
 * their memory, others with host memory of the training's, valid until its next run. hook (NULL:
 * none) is called as the steps are started, in their order, the same in every run. */
NODISCARD int training_run(struct training *training, const struct tensor *inputs,
                           struct tensor *outputs, const struct plan_hook *hook, struct error *err);
