/* rank_gpu.h: which of a pod's GPUs a rank uses. CUDA programs use the first visible GPU, so each
 * rank sees only one. Pure. */
#pragma once

#include "lib/error.h"

/* The value of CUDA_VISIBLE_DEVICES for the rank that is `local_rank` among the ranks of its pod,
 * given the current value: NULL (all GPUs, numbered from 0; never fails) or a list of numbers and
 * UUIDs. local_rank: from 0. The caller frees *ret_value. INVALID: the list is too short. */
NODISCARD int rank_gpu_choose(const char *visible, int64_t local_rank, char **ret_value,
                              struct error *err);
