/* attribute_rules.h: which attributes an operator knows, for the rows of agent/engine/ops/table.c.
 * One that no kernel really honours is in no list: so it is refused by name. Each list ends with a
 * rule without a name. */
#pragma once

#include "agent/engine/graph/op.h"

#define RULES(name) extern const struct attribute_rule name##_rules[]
RULES(conv);
RULES(conv_transpose);
RULES(max_pool);
RULES(average_pool);
RULES(average_pool_19);
RULES(batch_norm);
RULES(batch_norm_1);
RULES(old_binary);
RULES(old_prelu);
RULES(average_pool_1);
RULES(gemm_1);
RULES(batch_norm_7);
RULES(batch_norm_14);
RULES(epsilon);
RULES(alpha);
RULES(hard_sigmoid);
RULES(selu);
RULES(clip_6);
RULES(lrn);
RULES(gemm);
RULES(axis);
RULES(axes);
RULES(reduce);
RULES(reduce_sum_13);
RULES(arg_max_1);
RULES(arg_max);
RULES(pad_2);
RULES(pad_11);
RULES(pad_19);
RULES(upsample_7);
RULES(resize_10);
RULES(resize_11);
RULES(resize_18);
RULES(split_2);
RULES(split_18);
RULES(slice_1);
RULES(perm);
RULES(allow_zero);
RULES(shape_15);
RULES(cast);
RULES(cast_19);
RULES(cast_like_19);
RULES(dequantize_21);
RULES(quantize_19);
RULES(quantize_21);
RULES(gelu);
RULES(group_norm);
RULES(group_norm_21);
RULES(value);
RULES(dropout);
RULES(depth_to_space);
RULES(batch_dims);
RULES(bit_shift);
RULES(cum_sum);
RULES(einsum);
RULES(eye_like);
RULES(grid_sample);
RULES(grid_sample_20);
RULES(max_unpool);
RULES(roi_align);
RULES(roi_align_16);
RULES(dft);
RULES(dft_20);
RULES(mel_weights);
RULES(signal_window);
RULES(stft);
RULES(gru);
RULES(gru_14);
RULES(lstm);
RULES(lstm_14);
RULES(rnn);
RULES(rnn_14);
RULES(is_inf);
RULES(layer_norm);
RULES(likelihood);
RULES(mod);
RULES(reverse);
RULES(scatter_elements);
RULES(scatter_elements_18);
RULES(scatter_nd);
RULES(scatter_nd_18);
RULES(shrink);
RULES(top_k_1);
RULES(top_k);
RULES(trilu);
RULES(block);
#undef RULES
