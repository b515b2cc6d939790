// SPDX-License-Identifier: Apache-2.0
#include "agent/ops/table.h"

#include "agent/graph/builder.h"
#include "agent/ops/attribute_rules.h"
#include "agent/ops/einsum.h"
#include "agent/ops/elementwise.h"
#include "agent/ops/expand.h"
#include "agent/ops/internal.h"
#include "agent/ops/loss.h"
#include "agent/ops/matmul.h"
#include "agent/ops/move.h"
#include "agent/ops/norm.h"
#include "agent/ops/optimizer_step.h"
#include "agent/ops/order.h"
#include "agent/ops/params.h"
#include "agent/ops/pick.h"
#include "agent/ops/quantize.h"
#include "agent/ops/recurrent.h"
#include "agent/ops/reduce.h"
#include "agent/ops/reshape.h"
#include "agent/ops/resize.h"
#include "agent/ops/window.h"

#include <string.h>

enum { MANY = NODE_PORTS_MAX, NEWEST = 99 };

/* id, name, opsets, inputs (low, high), outputs, types, attributes, shape rule, flags */
static const struct op rows[] = {
    {OP_ABS, "Abs", 6, NEWEST, 1, 1, 1, "n", NULL, infer_same, 0},
    {OP_ACOS, "Acos", 7, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_ACOSH, "Acosh", 9, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_OLD_BINARY, "Add", 1, 6, 2, 2, 1, "n=", old_binary_rules, infer_expanded, 0},
    {OP_ADD, "Add", 7, NEWEST, 2, 2, 1, "n=", NULL, infer_broadcast, 0},
    {OP_OLD_BINARY, "And", 1, 6, 2, 2, 1, "b", old_binary_rules, infer_expanded, 0},
    {OP_AND, "And", 7, NEWEST, 2, 2, 1, "b", NULL, infer_compare, 0},
    {OP_ARG_MAX, "ArgMax", 1, 11, 1, 1, 1, "n", arg_max_1_rules, infer_arg_max, 0},
    {OP_ARG_MAX, "ArgMax", 12, NEWEST, 1, 1, 1, "n", arg_max_rules, infer_arg_max, 0},
    {OP_ARG_MIN, "ArgMin", 1, 11, 1, 1, 1, "n", arg_max_1_rules, infer_arg_max, 0},
    {OP_ARG_MIN, "ArgMin", 12, NEWEST, 1, 1, 1, "n", arg_max_rules, infer_arg_max, 0},
    {OP_ASIN, "Asin", 7, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_ASINH, "Asinh", 9, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_ATAN, "Atan", 7, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_ATANH, "Atanh", 9, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_AVERAGE_POOL, "AveragePool", 1, 6, 1, 1, 1, "r", average_pool_1_rules, infer_pool, 0},
    {OP_AVERAGE_POOL, "AveragePool", 7, 18, 1, 1, 1, "r", average_pool_rules, infer_pool, 0},
    {OP_BATCH_NORMALIZATION, "BatchNormalization", 1, 6, 5, 5, 1, "f", batch_norm_1_rules,
     infer_batch_norm, 0},
    {OP_BATCH_NORMALIZATION, "BatchNormalization", 7, 8, 5, 5, 1, "f", batch_norm_7_rules,
     infer_norm, 0},
    {OP_BATCH_NORMALIZATION, "BatchNormalization", 9, 13, 5, 5, 1, "f", batch_norm_rules,
     infer_norm, 0},
    {OP_BATCH_NORMALIZATION, "BatchNormalization", 14, NEWEST, 5, 5, 3, "f", batch_norm_14_rules,
     infer_batch_norm, 0},
    {OP_BIT_SHIFT, "BitShift", 11, NEWEST, 2, 2, 1, "u=", bit_shift_rules, infer_bit_shift, 0},
    {OP_CAST, "Cast", 6, 18, 1, 1, 1, "*", cast_rules, infer_cast, 0},
    {OP_CAST_LIKE, "CastLike", 15, 18, 2, 2, 1, "**", NULL, infer_cast_like, 0},
    {OP_CEIL, "Ceil", 6, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_CELU, "Celu", 12, NEWEST, 1, 1, 1, "r", alpha_rules, infer_same, 0},
    {OP_CLIP, "Clip", 6, 10, 1, 1, 1, "f", clip_6_rules, infer_same, 0},
    {OP_CLIP, "Clip", 11, NEWEST, 1, 3, 1, "n=", NULL, infer_clip, 0},
    {OP_CONCAT, "Concat", 4, NEWEST, 1, MANY, 1, "*=", axis_rules, infer_concat, 0},
    {OP_CONSTANT_OF_SHAPE, "ConstantOfShape", 9, NEWEST, 1, 1, 1, "l", value_rules,
     infer_constant_of_shape, 0},
    {OP_CONV, "Conv", 1, NEWEST, 2, 3, 1, "c=", conv_rules, infer_conv, OP_CONVOLVES},
    {OP_CONV_TRANSPOSE, "ConvTranspose", 1, NEWEST, 2, 3, 1, "c=", conv_transpose_rules,
     infer_conv_transpose, OP_SPREADS},
    {OP_CONV_INTEGER, "ConvInteger", 10, NEWEST, 2, 4, 1, "p", conv_rules, infer_expanded, 0},
    {OP_COS, "Cos", 7, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_COSH, "Cosh", 9, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_CUM_SUM, "CumSum", 11, NEWEST, 2, 2, 1, "ti", cum_sum_rules, infer_cum_sum, 0},
    {OP_DEPTH_TO_SPACE, "DepthToSpace", 1, 10, 1, 1, 1, "*", block_rules, infer_depth_to_space, 0},
    {OP_DEPTH_TO_SPACE, "DepthToSpace", 11, NEWEST, 1, 1, 1, "*", depth_to_space_rules,
     infer_depth_to_space, 0},
    {OP_DEQUANTIZE_LINEAR, "DequantizeLinear", 10, 12, 2, 3, 1, "nf*", NULL, infer_dequantize, 0},
    {OP_DEQUANTIZE_LINEAR, "DequantizeLinear", 13, 18, 2, 3, 1, "nf*", axis_rules, infer_dequantize,
     0},
    {OP_DET, "Det", 11, NEWEST, 1, 1, 1, "r", NULL, infer_det, 0},
    {OP_OLD_BINARY, "Div", 1, 6, 2, 2, 1, "n=", old_binary_rules, infer_expanded, 0},
    {OP_DIV, "Div", 7, NEWEST, 2, 2, 1, "n=", NULL, infer_broadcast, 0},
    {OP_DROPOUT, "Dropout", 7, 9, 1, 1, 1, "f", dropout_rules, infer_dropout, OP_VIEW},
    {OP_DROPOUT, "Dropout", 10, 11, 1, 1, 2, "f", dropout_rules, infer_dropout, OP_VIEW},
    {OP_DROPOUT, "Dropout", 12, NEWEST, 1, 3, 2, "ffb", dropout_rules, infer_dropout, OP_VIEW},
    {OP_DYNAMIC_QUANTIZE, "DynamicQuantizeLinear", 11, NEWEST, 1, 1, 3, "f", NULL, infer_expanded,
     0},
    {OP_EINSUM, "Einsum", 12, NEWEST, 1, EINSUM_OPERANDS_MAX, 1, "t=", einsum_rules, infer_einsum,
     0},
    {OP_ELU, "Elu", 6, NEWEST, 1, 1, 1, "r", alpha_rules, infer_same, 0},
    {OP_OLD_BINARY, "Equal", 1, 6, 2, 2, 1, "e=", old_binary_rules, infer_expanded, 0},
    {OP_EQUAL, "Equal", 7, NEWEST, 2, 2, 1, "e=", NULL, infer_compare, 0},
    {OP_ERF, "Erf", 9, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_EXP, "Exp", 6, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_EXPAND, "Expand", 8, NEWEST, 2, 2, 1, "*l", NULL, infer_expand, 0},
    {OP_EYE_LIKE, "EyeLike", 9, NEWEST, 1, 1, 1, "n", eye_like_rules, infer_eye_like, 0},
    {OP_FLATTEN, "Flatten", 1, NEWEST, 1, 1, 1, "*", axis_rules, infer_flatten, OP_VIEW},
    {OP_FLOOR, "Floor", 6, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_GATHER, "Gather", 1, NEWEST, 2, 2, 1, "*i", axis_rules, infer_gather, 0},
    {OP_GATHER_ELEMENTS, "GatherElements", 11, NEWEST, 2, 2, 1, "*i", axis_rules,
     infer_gather_elements, 0},
    {OP_GATHER_ND, "GatherND", 11, NEWEST, 2, 2, 1, "*i", batch_dims_rules, infer_gather_nd, 0},
    {OP_GEMM, "Gemm", 1, 6, 3, 3, 1, "r=", gemm_1_rules, infer_gemm, OP_MULTIPLIES},
    {OP_GEMM, "Gemm", 7, 10, 3, 3, 1, "r=", gemm_rules, infer_gemm, OP_MULTIPLIES},
    {OP_GEMM, "Gemm", 11, NEWEST, 2, 3, 1, "r=", gemm_rules, infer_gemm, OP_MULTIPLIES},
    {OP_GLOBAL_AVERAGE_POOL, "GlobalAveragePool", 1, NEWEST, 1, 1, 1, "r", NULL, infer_global_pool,
     0},
    {OP_GLOBAL_MAX_POOL, "GlobalMaxPool", 1, NEWEST, 1, 1, 1, "r", NULL, infer_global_pool, 0},
    {OP_OLD_BINARY, "Greater", 1, 6, 2, 2, 1, "n=", old_binary_rules, infer_expanded, 0},
    {OP_GREATER, "Greater", 7, NEWEST, 2, 2, 1, "n=", NULL, infer_compare, 0},
    {OP_GREATER_OR_EQUAL, "GreaterOrEqual", 12, NEWEST, 2, 2, 1, "n=", NULL, infer_compare, 0},
    {OP_GRU, "GRU", 7, 13, 3, 6, 2, "ffffif", gru_rules, infer_recurrent, 0},
    {OP_GRU, "GRU", 14, NEWEST, 3, 6, 2, "ffffif", gru_14_rules, infer_recurrent, 0},
    {OP_HARDMAX, "Hardmax", 1, NEWEST, 1, 1, 1, "f", axis_rules, infer_softmax, 0},
    {OP_HARD_SIGMOID, "HardSigmoid", 6, NEWEST, 1, 1, 1, "r", hard_sigmoid_rules, infer_same, 0},
    {OP_HARD_SWISH, "HardSwish", 14, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_IDENTITY, "Identity", 1, NEWEST, 1, 1, 1, "*", NULL, infer_same, OP_VIEW},
    {OP_INSTANCE_NORMALIZATION, "InstanceNormalization", 6, NEWEST, 3, 3, 1, "f", epsilon_rules,
     infer_norm, 0},
    {OP_IS_INF, "IsInf", 10, NEWEST, 1, 1, 1, "r", is_inf_rules, infer_test, 0},
    {OP_IS_NAN, "IsNaN", 9, NEWEST, 1, 1, 1, "r", NULL, infer_test, 0},
    {OP_LAYER_NORMALIZATION, "LayerNormalization", 17, NEWEST, 2, 3, 3, "f", layer_norm_rules,
     infer_layer_norm, 0},
    {OP_LEAKY_RELU, "LeakyRelu", 6, NEWEST, 1, 1, 1, "r", alpha_rules, infer_same, 0},
    {OP_OLD_BINARY, "Less", 1, 6, 2, 2, 1, "n=", old_binary_rules, infer_expanded, 0},
    {OP_LESS, "Less", 7, NEWEST, 2, 2, 1, "n=", NULL, infer_compare, 0},
    {OP_LESS_OR_EQUAL, "LessOrEqual", 12, NEWEST, 2, 2, 1, "n=", NULL, infer_compare, 0},
    {OP_LOG, "Log", 6, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_LOG_SOFTMAX, "LogSoftmax", 1, NEWEST, 1, 1, 1, "f", axis_rules, infer_softmax, 0},
    {OP_LSTM, "LSTM", 7, 13, 3, 8, 3, "ffffif", lstm_rules, infer_recurrent, 0},
    {OP_LSTM, "LSTM", 14, NEWEST, 3, 8, 3, "ffffif", lstm_14_rules, infer_recurrent, 0},
    {OP_LRN, "LRN", 1, NEWEST, 1, 1, 1, "f", lrn_rules, infer_lrn, 0},
    {OP_MATMUL, "MatMul", 1, NEWEST, 2, 2, 1, "t=", NULL, infer_matmul, OP_MULTIPLIES},
    {OP_MATMUL_INTEGER, "MatMulInteger", 10, NEWEST, 2, 4, 1, "p", NULL, infer_expanded, 0},
    {OP_MAX, "Max", 6, NEWEST, 1, MANY, 1, "n=", NULL, infer_broadcast, 0},
    {OP_MAX_POOL, "MaxPool", 1, 11, 1, 1, 2, "r", max_pool_rules, infer_max_pool, 0},
    {OP_MAX_POOL, "MaxPool", 12, NEWEST, 1, 1, 2, "p", max_pool_rules, infer_max_pool, 0},
    {OP_MEAN, "Mean", 6, NEWEST, 1, MANY, 1, "r=", NULL, infer_broadcast, 0},
    {OP_MEAN_VARIANCE_NORMALIZATION, "MeanVarianceNormalization", 9, NEWEST, 1, 1, 1, "f",
     axes_rules, infer_expanded, 0},
    {OP_MIN, "Min", 6, NEWEST, 1, MANY, 1, "n=", NULL, infer_broadcast, 0},
    {OP_MOD, "Mod", 10, NEWEST, 2, 2, 1, "n=", mod_rules, infer_mod, 0},
    {OP_OLD_BINARY, "Mul", 1, 6, 2, 2, 1, "n=", old_binary_rules, infer_expanded, 0},
    {OP_MUL, "Mul", 7, NEWEST, 2, 2, 1, "n=", NULL, infer_broadcast, 0},
    {OP_NEG, "Neg", 6, NEWEST, 1, 1, 1, "n", NULL, infer_same, 0},
    {OP_NEGATIVE_LOG_LIKELIHOOD_LOSS, "NegativeLogLikelihoodLoss", 12, NEWEST, 2, 3, 1, "fif",
     likelihood_rules, infer_likelihood_loss, 0},
    {OP_NOT, "Not", 1, NEWEST, 1, 1, 1, "b", NULL, infer_same, 0},
    {OP_ONE_HOT, "OneHot", 9, NEWEST, 3, 3, 1, "nn*", axis_rules, infer_one_hot, 0},
    {OP_OLD_BINARY, "Or", 1, 6, 2, 2, 1, "b", old_binary_rules, infer_expanded, 0},
    {OP_OR, "Or", 7, NEWEST, 2, 2, 1, "b", NULL, infer_compare, 0},
    {OP_PAD, "Pad", 2, 10, 1, 1, 1, "f", pad_2_rules, infer_pad, 0},
    {OP_PAD, "Pad", 11, 17, 2, 3, 1, "*l*", pad_11_rules, infer_pad, 0},
    {OP_OLD_BINARY, "Pow", 1, 6, 2, 2, 1, "f", old_binary_rules, infer_expanded, 0},
    {OP_POW, "Pow", 7, NEWEST, 2, 2, 1, "nn", NULL, infer_broadcast, 0},
    {OP_OLD_BINARY, "PRelu", 1, 6, 2, 2, 1, "f", old_prelu_rules, infer_expanded, 0},
    {OP_PRELU, "PRelu", 7, NEWEST, 2, 2, 1, "f", NULL, infer_one_way, 0},
    {OP_QLINEAR_CONV, "QLinearConv", 10, NEWEST, 8, 9, 1, "*", conv_rules, infer_expanded, 0},
    {OP_QLINEAR_MATMUL, "QLinearMatMul", 10, NEWEST, 8, 8, 1, "*", NULL, infer_expanded, 0},
    {OP_QUANTIZE_LINEAR, "QuantizeLinear", 10, 12, 2, 3, 1, "nf*", NULL, infer_quantize, 0},
    {OP_QUANTIZE_LINEAR, "QuantizeLinear", 13, 18, 2, 3, 1, "nf*", axis_rules, infer_quantize, 0},
    {OP_RANGE, "Range", 11, NEWEST, 3, 3, 1, "t=", NULL, infer_range, 0},
    {OP_RECIPROCAL, "Reciprocal", 6, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_REDUCE_L1, "ReduceL1", 1, 17, 1, 1, 1, "t", reduce_rules, infer_reduce, 0},
    {OP_REDUCE_L2, "ReduceL2", 1, 17, 1, 1, 1, "r", reduce_rules, infer_reduce, 0},
    {OP_REDUCE_LOG_SUM, "ReduceLogSum", 1, 17, 1, 1, 1, "r", reduce_rules, infer_reduce, 0},
    {OP_REDUCE_LOG_SUM_EXP, "ReduceLogSumExp", 1, 17, 1, 1, 1, "r", reduce_rules, infer_reduce, 0},
    {OP_REDUCE_MAX, "ReduceMax", 1, 17, 1, 1, 1, "t", reduce_rules, infer_reduce, 0},
    {OP_REDUCE_MEAN, "ReduceMean", 1, 17, 1, 1, 1, "r", reduce_rules, infer_reduce, 0},
    {OP_REDUCE_MIN, "ReduceMin", 1, 17, 1, 1, 1, "t", reduce_rules, infer_reduce, 0},
    {OP_REDUCE_PROD, "ReduceProd", 1, 17, 1, 1, 1, "t", reduce_rules, infer_reduce, 0},
    {OP_REDUCE_SUM, "ReduceSum", 1, 12, 1, 1, 1, "t", reduce_rules, infer_reduce, 0},
    {OP_REDUCE_SUM, "ReduceSum", 13, NEWEST, 1, 2, 1, "tl", reduce_sum_13_rules, infer_reduce, 0},
    {OP_REDUCE_SUM_SQUARE, "ReduceSumSquare", 1, 17, 1, 1, 1, "t", reduce_rules, infer_reduce, 0},
    {OP_RELU, "Relu", 6, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_RESHAPE, "Reshape", 5, 13, 2, 2, 1, "*l", NULL, infer_reshape, OP_VIEW},
    {OP_RESHAPE, "Reshape", 14, NEWEST, 2, 2, 1, "*l", allow_zero_rules, infer_reshape, OP_VIEW},
    {OP_RESIZE, "Resize", 10, 10, 2, 2, 1, "f", resize_10_rules, infer_resize, 0},
    {OP_RESIZE, "Resize", 11, 17, 1, 4, 1, "fffl", resize_11_rules, infer_resize, 0},
    {OP_REVERSE_SEQUENCE, "ReverseSequence", 10, NEWEST, 2, 2, 1, "*l", reverse_rules,
     infer_reverse_sequence, 0},
    {OP_RNN, "RNN", 7, 13, 3, 6, 2, "ffffif", rnn_rules, infer_recurrent, 0},
    {OP_RNN, "RNN", 14, NEWEST, 3, 6, 2, "ffffif", rnn_14_rules, infer_recurrent, 0},
    {OP_ROUND, "Round", 11, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_SCATTER_ELEMENTS, "Scatter", 9, 10, 3, 3, 1, "*i*", axis_rules, infer_scatter_elements, 0},
    {OP_SCATTER_ELEMENTS, "ScatterElements", 11, 15, 3, 3, 1, "*i*", axis_rules,
     infer_scatter_elements, 0},
    {OP_SCATTER_ELEMENTS, "ScatterElements", 16, 17, 3, 3, 1, "*i*", scatter_elements_rules,
     infer_scatter_elements, 0},
    {OP_SCATTER_ND, "ScatterND", 11, 15, 3, 3, 1, "*i*", NULL, infer_scatter_nd, 0},
    {OP_SCATTER_ND, "ScatterND", 16, 17, 3, 3, 1, "*i*", scatter_nd_rules, infer_scatter_nd, 0},
    {OP_SELU, "Selu", 6, NEWEST, 1, 1, 1, "r", selu_rules, infer_same, 0},
    {OP_SHAPE, "Shape", 1, 14, 1, 1, 1, "*", NULL, infer_shape, OP_FROM_SHAPE},
    {OP_SHAPE, "Shape", 15, NEWEST, 1, 1, 1, "*", shape_15_rules, infer_shape, OP_FROM_SHAPE},
    {OP_SHRINK, "Shrink", 9, NEWEST, 1, 1, 1, "r", shrink_rules, infer_same, 0},
    {OP_SIGMOID, "Sigmoid", 6, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_SIGN, "Sign", 9, NEWEST, 1, 1, 1, "n", NULL, infer_same, 0},
    {OP_SIN, "Sin", 7, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_SINH, "Sinh", 9, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_SIZE, "Size", 1, NEWEST, 1, 1, 1, "*", NULL, infer_size, OP_FROM_SHAPE},
    {OP_SLICE, "Slice", 1, 9, 1, 1, 1, "*", slice_1_rules, infer_slice, 0},
    {OP_SLICE, "Slice", 10, NEWEST, 3, 5, 1, "*i", NULL, infer_slice, 0},
    {OP_SOFTMAX, "Softmax", 1, NEWEST, 1, 1, 1, "f", axis_rules, infer_softmax, 0},
    {OP_SOFTMAX_CROSS_ENTROPY_LOSS, "SoftmaxCrossEntropyLoss", 12, NEWEST, 2, 3, 2, "fif",
     likelihood_rules, infer_likelihood_loss, 0},
    {OP_SOFTPLUS, "Softplus", 1, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_SOFTSIGN, "Softsign", 1, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_SPACE_TO_DEPTH, "SpaceToDepth", 1, NEWEST, 1, 1, 1, "*", block_rules, infer_space_to_depth,
     0},
    {OP_SPLIT, "Split", 2, 12, 1, 1, MANY, "*", split_2_rules, infer_split, 0},
    {OP_SPLIT, "Split", 13, 17, 1, 2, MANY, "*l", axis_rules, infer_split, 0},
    {OP_SQRT, "Sqrt", 6, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_SQUEEZE, "Squeeze", 1, 12, 1, 1, 1, "*", axes_rules, infer_squeeze, OP_VIEW},
    {OP_SQUEEZE, "Squeeze", 13, NEWEST, 1, 2, 1, "*l", NULL, infer_squeeze, OP_VIEW},
    {OP_OLD_BINARY, "Sub", 1, 6, 2, 2, 1, "n=", old_binary_rules, infer_expanded, 0},
    {OP_SUB, "Sub", 7, NEWEST, 2, 2, 1, "n=", NULL, infer_broadcast, 0},
    {OP_SUM, "Sum", 6, NEWEST, 1, MANY, 1, "r=", NULL, infer_broadcast, 0},
    {OP_TAN, "Tan", 7, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_TANH, "Tanh", 6, NEWEST, 1, 1, 1, "r", NULL, infer_same, 0},
    {OP_THRESHOLDED_RELU, "ThresholdedRelu", 10, NEWEST, 1, 1, 1, "r", alpha_rules, infer_same, 0},
    {OP_TILE, "Tile", 6, NEWEST, 2, 2, 1, "*l", NULL, infer_tile, 0},
    {OP_TOP_K, "TopK", 1, 9, 1, 1, 2, "n", top_k_1_rules, infer_top_k, 0},
    {OP_TOP_K, "TopK", 10, 10, 2, 2, 2, "nl", axis_rules, infer_top_k, 0},
    {OP_TOP_K, "TopK", 11, NEWEST, 2, 2, 2, "nl", top_k_rules, infer_top_k, 0},
    {OP_TRANSPOSE, "Transpose", 1, NEWEST, 1, 1, 1, "*", perm_rules, infer_transpose, 0},
    {OP_TRILU, "Trilu", 14, NEWEST, 1, 2, 1, "*l", trilu_rules, infer_trilu, 0},
    {OP_UNSQUEEZE, "Unsqueeze", 1, 12, 1, 1, 1, "*", axes_rules, infer_unsqueeze, OP_VIEW},
    {OP_UNSQUEEZE, "Unsqueeze", 13, NEWEST, 2, 2, 1, "*l", NULL, infer_unsqueeze, OP_VIEW},
    {OP_UPSAMPLE, "Upsample", 7, 8, 1, 1, 1, "f", upsample_7_rules, infer_resize, 0},
    {OP_UPSAMPLE, "Upsample", 9, 9, 2, 2, 1, "f", resize_10_rules, infer_resize, 0},
    {OP_WHERE, "Where", 9, NEWEST, 3, 3, 1, "b**", NULL, infer_where, 0},
    {OP_OLD_BINARY, "Xor", 1, 6, 2, 2, 1, "b", old_binary_rules, infer_expanded, 0},
    {OP_XOR, "Xor", 7, NEWEST, 2, 2, 1, "b", NULL, infer_compare, 0},
    {OP_ALIGN, "Align", 0, 0, 2, 2, 1, "*", NULL, infer_align, OP_VIEW},
    {OP_CONV_GRADIENT_INPUT, "ConvGradientInput", 0, 0, 3, 3, 1, "flf", NULL, infer_to_shape, 0},
    {OP_CONV_GRADIENT_WEIGHTS, "ConvGradientWeights", 0, 0, 3, 3, 2, "flf", NULL,
     infer_conv_gradient_weights, 0},
    {OP_DROPOUT_TRAINING, "DropoutTraining", 0, 0, 2, 2, 1, "fl", NULL, infer_dropout_training, 0},
    {OP_LRN_GRADIENT, "LrnGradient", 0, 0, 2, 2, 1, "f", NULL, infer_same, 0},
    {OP_MATMUL_GRADIENT, "MatMulGradient", 0, 0, 3, 3, 1, "f", NULL, infer_matmul_gradient, 0},
    {OP_MAX_POOL_INDICES, "MaxPoolIndices", 0, 0, 1, 1, 2, "p", NULL, infer_max_pool, 0},
    {OP_MEAN_SQUARED, "MeanSquared", 0, 0, 3, 3, 2, "f", NULL, infer_mean_squared, 0},
    {OP_MOVE_GRADIENT, "MoveGradient", 0, 0, 2, MANY, 1, "fl*", NULL, infer_to_shape, 0},
    {OP_NORM_GRADIENT, "NormGradient", 0, 0, 5, 5, 3, "f", NULL, infer_norm_gradient, 0},
    {OP_NORM_TRAINING, "NormTraining", 0, 0, 3, 3, 3, "f", NULL, infer_norm_training, 0},
    {OP_OPTIMIZER_STEP, "OptimizerStep", 0, 0, 3, 5, 3, "f", NULL, infer_optimizer_step, 0},
    {OP_POOL_GRADIENT, "PoolGradient", 0, 0, 2, 3, 1, "flf", NULL, infer_to_shape, 0},
    {OP_RESIZE_GRADIENT, "ResizeGradient", 0, 0, 2, MANY, 1, "fl*", NULL, infer_to_shape, 0},
    {OP_ROUND_BFLOAT, "RoundBfloat", 0, 0, 1, 1, 1, "f", NULL, infer_same, 0},
    {OP_SOFTMAX_CROSS_ENTROPY, "SoftmaxCrossEntropy", 0, 0, 3, 3, 3, "flf", NULL,
     infer_softmax_cross_entropy, 0},
    {OP_SOFTMAX_GRADIENT, "SoftmaxGradient", 0, 0, 2, 2, 1, "f", NULL, infer_same, 0},
    {OP_SUM_TO, "SumTo", 0, 0, 2, 2, 1, "fl", NULL, infer_sum_to, OP_SAME},
    {OP_UNARY_GRADIENT, "UnaryGradient", 0, 0, 2, 4, 1, "f", NULL, infer_same, 0},
};

const struct op *table_find(const char *name, int opset) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].since <= opset && opset <= rows[i].until && strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

const struct op *table_op(enum op_id id) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_internal = rows[i].until == 0;
        if (rows[i].id == (int)id &&
            (is_internal || (rows[i].since <= BUILDER_OPSET && BUILDER_OPSET <= rows[i].until))) {
            return &rows[i];
        }
    }
    return NULL;
}

const struct op *table_row(size_t index) {
    return index < ARRAY_LEN(rows) ? &rows[index] : NULL;
}
