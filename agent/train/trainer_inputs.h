/* trainer_inputs.h: which tensor of a sample each of the network's inputs takes, by its name. */
#pragma once

#include "agent/train/dataset/order.h"
#include "agent/train/trainer_state.h"

/* Sets trainer->sources and the types that batches are made in. Data without names have one tensor,
 * which the network's only input takes, whatever its name is. INVALID, by name: an input that no
 * tensor fits, a tensor that no input takes though it is needed, types or shapes that do not fit.
 */
NODISCARD int trainer_match_inputs(struct trainer *trainer, const json_t *spec, struct error *err);
/* The types and shapes of the network's inputs for a batch of `samples`; without data. */
void trainer_shape_inputs(const struct trainer *trainer, int64_t samples, struct tensor *inputs);
/* This part of a batch, as the network's inputs; borrowed from the batch. */
void trainer_set_inputs(const struct trainer *trainer, const struct batch *batch,
                        struct order_slice part, struct tensor *inputs);
