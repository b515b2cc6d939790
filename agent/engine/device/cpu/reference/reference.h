/* reference.h: the plain kernels, one per operator, by op id. Simple loops that can be compared
 * with the ONNX specification; all other kernels are tested against them. */
#pragma once

#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/table.h"

extern const struct kernel *const reference_kernels[];

#define REFERENCE(name) extern const struct kernel reference_##name
/* unary.c */
extern const struct kernel reference_acos, reference_acosh, reference_asin, reference_asinh,
    reference_atan, reference_atanh, reference_bitwise_not, reference_gelu, reference_mish;
REFERENCE(abs);
REFERENCE(ceil);
REFERENCE(celu);
REFERENCE(clip);
REFERENCE(cos);
REFERENCE(cosh);
REFERENCE(elu);
REFERENCE(erf);
REFERENCE(exp);
REFERENCE(floor);
REFERENCE(hard_sigmoid);
REFERENCE(hard_swish);
REFERENCE(is_inf);
REFERENCE(is_nan);
REFERENCE(leaky_relu);
REFERENCE(log);
REFERENCE(neg);
REFERENCE(not );
REFERENCE(reciprocal);
REFERENCE(relu);
REFERENCE(round);
REFERENCE(selu);
REFERENCE(shrink);
REFERENCE(sigmoid);
REFERENCE(sign);
REFERENCE(sin);
REFERENCE(sinh);
REFERENCE(softplus);
REFERENCE(softsign);
REFERENCE(sqrt);
REFERENCE(tan);
REFERENCE(tanh);
REFERENCE(thresholded_relu);
/* binary.c */
REFERENCE(arithmetic);
REFERENCE(bit_shift);
REFERENCE(bitwise);
REFERENCE(compare);
REFERENCE(logic);
REFERENCE(pow);
REFERENCE(prelu);
/* convert.c */
REFERENCE(cast);
REFERENCE(where);
/* conv.c */
REFERENCE(conv);
REFERENCE(conv_transpose);
/* pool.c */
REFERENCE(pool);
REFERENCE(global_pool);
/* norm.c */
REFERENCE(batch_normalization);
REFERENCE(instance_normalization);
REFERENCE(group_normalization);
REFERENCE(layer_normalization);
REFERENCE(lrn);
/* matmul.c */
REFERENCE(gemm);
REFERENCE(matmul);
/* einsum.c */
REFERENCE(einsum);
/* det.c */
REFERENCE(det);
/* quantize.c */
extern const struct kernel reference_dequantize_linear, reference_quantize_linear;
/* recurrent.c */
REFERENCE(recurrent);
/* sample.c, signal.c */
extern const struct kernel reference_grid_sample, reference_grid_sample_gradient,
    reference_max_unpool, reference_roi_align;
extern const struct kernel reference_dft, reference_mel_weights, reference_signal_window,
    reference_stft;
/* pick.c */
REFERENCE(gather_elements);
REFERENCE(gather_nd);
REFERENCE(one_hot);
REFERENCE(reverse_sequence);
REFERENCE(scatter_elements);
REFERENCE(scatter_nd);
/* order.c */
REFERENCE(cum_sum);
REFERENCE(eye_like);
REFERENCE(hardmax);
REFERENCE(top_k);
REFERENCE(trilu);
/* likelihood.c */
REFERENCE(likelihood_loss);
/* reduce.c */
REFERENCE(arg_max);
REFERENCE(reduce);
REFERENCE(softmax);
/* resize.c */
REFERENCE(resize);
/* move.c */
REFERENCE(concat);
REFERENCE(depth_to_space);
REFERENCE(expand);
REFERENCE(gather);
REFERENCE(pad);
REFERENCE(slice);
REFERENCE(space_to_depth);
REFERENCE(split);
REFERENCE(tile);
REFERENCE(transpose);
/* reshape.c */
REFERENCE(constant_of_shape);
REFERENCE(copy);
REFERENCE(range);
REFERENCE(shape);
REFERENCE(size);
/* gradient.c */
REFERENCE(matmul_gradient);
REFERENCE(softmax_gradient);
REFERENCE(sum_to);
REFERENCE(unary_gradient);
/* gradient_window.c */
REFERENCE(conv_gradient_input);
REFERENCE(conv_gradient_weights);
REFERENCE(pool_gradient);
/* gradient_norm.c */
REFERENCE(dropout_training);
REFERENCE(lrn_gradient);
REFERENCE(norm_gradient);
REFERENCE(norm_training);
/* gradient_recurrent.c */
REFERENCE(recurrent_gradient);
/* gradient_move.c, resize.c */
REFERENCE(move_gradient);
REFERENCE(resize_gradient);
/* loss.c, round_bfloat.c, optimizer_step.c, bytes.c */
REFERENCE(mean_squared);
REFERENCE(softmax_cross_entropy);
REFERENCE(ctc_loss);
REFERENCE(round_bfloat);
REFERENCE(global_norm);
extern const struct kernel reference_optimizer_step, reference_from_bytes, reference_to_bytes;
#undef REFERENCE
