// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/attribute_rules.h"

#include "agent/engine/graph.h"

#define INTEGER ATTRIBUTE_INTEGER
#define NUMBER ATTRIBUTE_NUMBER
#define TEXT ATTRIBUTE_TEXT
#define INTEGERS ATTRIBUTE_INTEGERS

static const char auto_pads[] = "NOTSET|SAME_UPPER|SAME_LOWER|VALID";

const struct attribute_rule conv_rules[] = {
    {"auto_pad", TEXT, auto_pads, 0, 0}, {"dilations", INTEGERS, NULL, 0, 0},
    {"group", INTEGER, NULL, 0, 0},      {"kernel_shape", INTEGERS, NULL, 0, 0},
    {"pads", INTEGERS, NULL, 0, 0},      {"strides", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule conv_transpose_rules[] = {
    {"auto_pad", TEXT, auto_pads, 0, 0},
    {"dilations", INTEGERS, NULL, 0, 0},
    {"group", INTEGER, NULL, 0, 0},
    {"kernel_shape", INTEGERS, NULL, 0, 0},
    {"output_padding", INTEGERS, NULL, 0, 0},
    {"output_shape", INTEGERS, NULL, 0, 0},
    {"pads", INTEGERS, NULL, 0, 0},
    {"strides", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule max_pool_rules[] = {
    {"auto_pad", TEXT, auto_pads, 0, 0}, {"ceil_mode", INTEGER, NULL, 0, 1},
    {"dilations", INTEGERS, NULL, 0, 0}, {"kernel_shape", INTEGERS, NULL, 0, 0},
    {"pads", INTEGERS, NULL, 0, 0},      {"storage_order", INTEGER, NULL, 0, 1},
    {"strides", INTEGERS, NULL, 0, 0},   {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule average_pool_rules[] = {
    {"auto_pad", TEXT, auto_pads, 0, 0},
    {"ceil_mode", INTEGER, NULL, 0, 1},
    {"count_include_pad", INTEGER, NULL, 0, 1},
    {"kernel_shape", INTEGERS, NULL, 0, 0},
    {"pads", INTEGERS, NULL, 0, 0},
    {"strides", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule average_pool_19_rules[] = {
    {"auto_pad", TEXT, auto_pads, 0, 0},        {"ceil_mode", INTEGER, NULL, 0, 1},
    {"count_include_pad", INTEGER, NULL, 0, 1}, {"dilations", INTEGERS, NULL, 0, 0},
    {"kernel_shape", INTEGERS, NULL, 0, 0},     {"pads", INTEGERS, NULL, 0, 0},
    {"strides", INTEGERS, NULL, 0, 0},          {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule batch_norm_rules[] = {
    {"epsilon", NUMBER, NULL, 0, 0},
    {"momentum", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* consumed_inputs, of opsets before 6, says what memory may be used again: that is our business. */
const struct attribute_rule batch_norm_1_rules[] = {
    {"consumed_inputs", INTEGERS, NULL, 0, 0}, {"epsilon", NUMBER, NULL, 0, 0},
    {"is_test", INTEGER, NULL, 0, 1},          {"momentum", NUMBER, NULL, 0, 0},
    {"spatial", INTEGER, NULL, 1, 1},          {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule old_binary_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"broadcast", INTEGER, NULL, 0, 1},
    {"consumed_inputs", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule old_prelu_rules[] = {
    {"consumed_inputs", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule average_pool_1_rules[] = {
    {"auto_pad", TEXT, auto_pads, 0, 0}, {"kernel_shape", INTEGERS, NULL, 0, 0},
    {"pads", INTEGERS, NULL, 0, 0},      {"strides", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule gemm_1_rules[] = {
    {"alpha", NUMBER, NULL, 0, 0},      {"beta", NUMBER, NULL, 0, 0},
    {"broadcast", INTEGER, NULL, 0, 1}, {"transA", INTEGER, NULL, 0, 0},
    {"transB", INTEGER, NULL, 0, 0},    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule batch_norm_7_rules[] = {
    {"epsilon", NUMBER, NULL, 0, 0},
    {"momentum", NUMBER, NULL, 0, 0},
    {"spatial", INTEGER, NULL, 1, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule batch_norm_14_rules[] = {
    {"epsilon", NUMBER, NULL, 0, 0},
    {"momentum", NUMBER, NULL, 0, 0},
    {"training_mode", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule epsilon_rules[] = {
    {"epsilon", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule alpha_rules[] = {
    {"alpha", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule hard_sigmoid_rules[] = {
    {"alpha", NUMBER, NULL, 0, 0},
    {"beta", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule selu_rules[] = {
    {"alpha", NUMBER, NULL, 0, 0},
    {"gamma", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule clip_6_rules[] = {
    {"max", NUMBER, NULL, 0, 0},
    {"min", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule lrn_rules[] = {
    {"alpha", NUMBER, NULL, 0, 0},       {"beta", NUMBER, NULL, 0, 0}, {"bias", NUMBER, NULL, 0, 0},
    {"size", INTEGER, NULL, 1, 1 << 20}, {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule gemm_rules[] = {
    {"alpha", NUMBER, NULL, 0, 0},   {"beta", NUMBER, NULL, 0, 0}, {"transA", INTEGER, NULL, 0, 0},
    {"transB", INTEGER, NULL, 0, 0}, {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule axis_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule axes_rules[] = {
    {"axes", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule reduce_rules[] = {
    {"axes", INTEGERS, NULL, 0, 0},
    {"keepdims", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule reduce_sum_13_rules[] = {
    {"keepdims", INTEGER, NULL, 0, 0},
    {"noop_with_empty_axes", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule arg_max_1_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"keepdims", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule arg_max_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"keepdims", INTEGER, NULL, 0, 0},
    {"select_last_index", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule pad_2_rules[] = {
    {"mode", TEXT, "constant|reflect|edge", 0, 0},
    {"pads", INTEGERS, NULL, 0, 0},
    {"value", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule pad_11_rules[] = {
    {"mode", TEXT, "constant|reflect|edge", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule pad_19_rules[] = {
    {"mode", TEXT, "constant|reflect|edge|wrap", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule upsample_7_rules[] = {
    {"mode", TEXT, "nearest|linear", 0, 0},
    {"scales", ATTRIBUTE_NUMBERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule resize_10_rules[] = {
    {"mode", TEXT, "nearest|linear", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule resize_11_rules[] = {
    {"coordinate_transformation_mode", TEXT,
     "half_pixel|pytorch_half_pixel|align_corners|asymmetric|tf_half_pixel_for_nn|"
     "tf_crop_and_resize",
     0, 0},
    {"cubic_coeff_a", NUMBER, NULL, 0, 0},
    {"exclude_outside", INTEGER, NULL, 0, 0},
    {"extrapolation_value", NUMBER, NULL, 0, 0},
    {"mode", TEXT, "nearest|linear|cubic", 0, 0},
    {"nearest_mode", TEXT, "round_prefer_floor|round_prefer_ceil|floor|ceil", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* antialias is refused; so are sizes that keep the aspect ratio, and half_pixel_symmetric of opset
 * 19. */
const struct attribute_rule resize_18_rules[] = {
    {"antialias", INTEGER, NULL, INT64_MIN, 0},
    {"axes", INTEGERS, NULL, 0, 0},
    {"coordinate_transformation_mode", TEXT,
     "half_pixel|pytorch_half_pixel|align_corners|asymmetric|tf_half_pixel_for_nn|"
     "tf_crop_and_resize",
     0, 0},
    {"cubic_coeff_a", NUMBER, NULL, 0, 0},
    {"exclude_outside", INTEGER, NULL, 0, 0},
    {"extrapolation_value", NUMBER, NULL, 0, 0},
    {"keep_aspect_ratio_policy", TEXT, "stretch", 0, 0},
    {"mode", TEXT, "nearest|linear|cubic", 0, 0},
    {"nearest_mode", TEXT, "round_prefer_floor|round_prefer_ceil|floor|ceil", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule split_18_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"num_outputs", INTEGER, NULL, 1, INT64_MAX},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule split_2_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"split", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule slice_1_rules[] = {
    {"axes", INTEGERS, NULL, 0, 0},
    {"ends", INTEGERS, NULL, 0, 0},
    {"starts", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule perm_rules[] = {
    {"perm", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule allow_zero_rules[] = {
    {"allowzero", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule shape_15_rules[] = {
    {"end", INTEGER, NULL, 0, 0},
    {"start", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule cast_rules[] = {
    {"to", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* saturate is for types of 8 bits that are floats, which we have not. */
const struct attribute_rule cast_19_rules[] = {
    {"saturate", INTEGER, NULL, 0, 0},
    {"to", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule cast_like_19_rules[] = {
    {"saturate", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule quantize_19_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"saturate", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* Blocks, of which each has a scale, are refused. */
const struct attribute_rule quantize_21_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},         {"block_size", INTEGER, NULL, INT64_MIN, 0},
    {"output_dtype", INTEGER, NULL, 0, 0}, {"saturate", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule dequantize_21_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"block_size", INTEGER, NULL, INT64_MIN, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule gelu_rules[] = {
    {"approximate", TEXT, "none|tanh", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule group_norm_rules[] = {
    {"epsilon", NUMBER, NULL, 0, 0},
    {"num_groups", INTEGER, NULL, 1, INT64_MAX},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule group_norm_21_rules[] = {
    {"epsilon", NUMBER, NULL, 0, 0},
    {"num_groups", INTEGER, NULL, 1, INT64_MAX},
    {"stash_type", INTEGER, NULL, 1, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule value_rules[] = {
    {"value", ATTRIBUTE_TENSOR, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule dropout_rules[] = {
    {"ratio", NUMBER, NULL, 0, 0},
    {"seed", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule depth_to_space_rules[] = {
    {"blocksize", INTEGER, NULL, 0, 0},
    {"mode", TEXT, "DCR|CRD", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule batch_dims_rules[] = {
    {"batch_dims", INTEGER, NULL, 0, TENSOR_RANK_MAX},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule bit_shift_rules[] = {
    {"direction", TEXT, "LEFT|RIGHT", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule cum_sum_rules[] = {
    {"exclusive", INTEGER, NULL, 0, 0},
    {"reverse", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule einsum_rules[] = {
    {"equation", TEXT, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule eye_like_rules[] = {
    {"dtype", INTEGER, NULL, 0, 0},
    {"k", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* activation_alpha and _beta are refused, so activations are those that need none (recurrent.h);
 * input_forget, too, and LSTM's clip, of which it is not said whether it holds for the cell on its
 * way out. */
const struct attribute_rule gru_rules[] = {
    {"activations", ATTRIBUTE_TEXTS, NULL, 0, 0},
    {"clip", NUMBER, NULL, 0, 0},
    {"direction", TEXT, "forward|reverse|bidirectional", 0, 0},
    {"hidden_size", INTEGER, NULL, 0, 0},
    {"linear_before_reset", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule gru_14_rules[] = {
    {"activations", ATTRIBUTE_TEXTS, NULL, 0, 0},
    {"clip", NUMBER, NULL, 0, 0},
    {"direction", TEXT, "forward|reverse|bidirectional", 0, 0},
    {"hidden_size", INTEGER, NULL, 0, 0},
    {"linear_before_reset", INTEGER, NULL, 0, 1},
    {"layout", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule lstm_rules[] = {
    {"activations", ATTRIBUTE_TEXTS, NULL, 0, 0},
    {"direction", TEXT, "forward|reverse|bidirectional", 0, 0},
    {"hidden_size", INTEGER, NULL, 0, 0},
    {"input_forget", INTEGER, NULL, INT64_MIN, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule rnn_rules[] = {
    {"activations", ATTRIBUTE_TEXTS, NULL, 0, 0},
    {"clip", NUMBER, NULL, 0, 0},
    {"direction", TEXT, "forward|reverse|bidirectional", 0, 0},
    {"hidden_size", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule lstm_14_rules[] = {
    {"activations", ATTRIBUTE_TEXTS, NULL, 0, 0},
    {"direction", TEXT, "forward|reverse|bidirectional", 0, 0},
    {"hidden_size", INTEGER, NULL, 0, 0},
    {"input_forget", INTEGER, NULL, INT64_MIN, 0},
    {"layout", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule rnn_14_rules[] = {
    {"activations", ATTRIBUTE_TEXTS, NULL, 0, 0},
    {"clip", NUMBER, NULL, 0, 0},
    {"direction", TEXT, "forward|reverse|bidirectional", 0, 0},
    {"hidden_size", INTEGER, NULL, 0, 0},
    {"layout", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule grid_sample_rules[] = {
    {"align_corners", INTEGER, NULL, 0, 1},
    {"mode", TEXT, "bilinear|nearest|bicubic", 0, 0},
    {"padding_mode", TEXT, "zeros|border|reflection", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule grid_sample_20_rules[] = {
    {"align_corners", INTEGER, NULL, 0, 1},
    {"mode", TEXT, "linear|nearest|cubic", 0, 0},
    {"padding_mode", TEXT, "zeros|border|reflection", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule max_unpool_rules[] = {
    {"kernel_shape", INTEGERS, NULL, 0, 0},
    {"pads", INTEGERS, NULL, 0, 0},
    {"strides", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* mode max: what runtimes take the greatest of is not what the text says. */
const struct attribute_rule roi_align_rules[] = {
    {"mode", TEXT, "avg", 0, 0},
    {"output_height", INTEGER, NULL, 1, 1 << 20},
    {"output_width", INTEGER, NULL, 1, 1 << 20},
    {"sampling_ratio", INTEGER, NULL, 0, 0},
    {"spatial_scale", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule roi_align_16_rules[] = {
    {"coordinate_transformation_mode", TEXT, "half_pixel|output_half_pixel", 0, 0},
    {"mode", TEXT, "avg", 0, 0},
    {"output_height", INTEGER, NULL, 1, 1 << 20},
    {"output_width", INTEGER, NULL, 1, 1 << 20},
    {"sampling_ratio", INTEGER, NULL, 0, 0},
    {"spatial_scale", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule dft_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"inverse", INTEGER, NULL, 0, 1},
    {"onesided", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule dft_20_rules[] = {
    {"inverse", INTEGER, NULL, 0, 1},
    {"onesided", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule mel_weights_rules[] = {
    {"output_datatype", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule signal_window_rules[] = {
    {"output_datatype", INTEGER, NULL, 0, 0},
    {"periodic", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule stft_rules[] = {
    {"onesided", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule is_inf_rules[] = {
    {"detect_negative", INTEGER, NULL, 0, 0},
    {"detect_positive", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* stash_type: of the sums, which are made in float64 here. */
const struct attribute_rule layer_norm_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"epsilon", NUMBER, NULL, 0, 0},
    {"stash_type", INTEGER, NULL, 1, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule likelihood_rules[] = {
    {"ignore_index", INTEGER, NULL, 0, 0},
    {"reduction", TEXT, "mean|sum|none", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule mod_rules[] = {
    {"fmod", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule reverse_rules[] = {
    {"batch_axis", INTEGER, NULL, 0, 1},
    {"time_axis", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule scatter_elements_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"reduction", TEXT, "none|add|mul", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule scatter_elements_18_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"reduction", TEXT, "none|add|mul|max|min", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule scatter_nd_18_rules[] = {
    {"reduction", TEXT, "none|add|mul|max|min", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule scatter_nd_rules[] = {
    {"reduction", TEXT, "none|add|mul", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule shrink_rules[] = {
    {"bias", NUMBER, NULL, 0, 0},
    {"lambd", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule top_k_1_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"k", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* sorted 0 leaves the order to us. */
const struct attribute_rule top_k_rules[] = {
    {"axis", INTEGER, NULL, 0, 0},
    {"largest", INTEGER, NULL, 0, 1},
    {"sorted", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule trilu_rules[] = {
    {"upper", INTEGER, NULL, 0, 1},
    {NULL, INTEGER, NULL, 0, 0},
};
const struct attribute_rule block_rules[] = {
    {"blocksize", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
