/* onednn_library.h: oneDNN's library, which is opened with the first step that it may take
 * (lib/library/shared_library.h). dnnl_memory_create is called as dnnl.memory_create. Only this
 * file includes its header. */
#pragma once

#include "lib/error.h"

#include <oneapi/dnnl/dnnl.h>

/* Debian builds oneDNN with OpenMP, whose threads spin while they wait. On a busy machine that took
 * many times as long as the work itself (28 ms instead of 1.8 ms with one thread), and it takes
 * processors from our thread pool. So primitives are made and run by one thread. The declaration is
 * from the OpenMP standard, because not all compilers that we use ship <omp.h>. */
void omp_set_num_threads(int count);

#define DNNL_CALLS(CALL)                                                                           \
    CALL(dnnl, dilated_convolution_backward_data_desc_init)                                        \
    CALL(dnnl, dilated_convolution_backward_weights_desc_init)                                     \
    CALL(dnnl, dilated_convolution_forward_desc_init)                                              \
    CALL(dnnl, dilated_deconvolution_forward_desc_init)                                            \
    CALL(dnnl, engine_create)                                                                      \
    CALL(dnnl, engine_destroy)                                                                     \
    CALL(dnnl, logsoftmax_forward_desc_init)                                                       \
    CALL(dnnl, lrn_forward_desc_init)                                                              \
    CALL(dnnl, matmul_desc_init)                                                                   \
    CALL(dnnl, memory_create)                                                                      \
    CALL(dnnl, memory_desc_equal)                                                                  \
    CALL(dnnl, memory_desc_get_size)                                                               \
    CALL(dnnl, memory_desc_init_by_strides)                                                        \
    CALL(dnnl, memory_desc_init_by_tag)                                                            \
    CALL(dnnl, memory_destroy)                                                                     \
    CALL(dnnl, memory_set_data_handle)                                                             \
    CALL(dnnl, primitive_attr_create)                                                              \
    CALL(dnnl, primitive_attr_destroy)                                                             \
    CALL(dnnl, primitive_attr_set_scratchpad_mode)                                                 \
    CALL(dnnl, primitive_create)                                                                   \
    CALL(dnnl, primitive_desc_create)                                                              \
    CALL(dnnl, primitive_desc_destroy)                                                             \
    CALL(dnnl, primitive_desc_query)                                                               \
    CALL(dnnl, primitive_desc_query_md)                                                            \
    CALL(dnnl, primitive_destroy)                                                                  \
    CALL(dnnl, primitive_execute)                                                                  \
    CALL(dnnl, reorder_primitive_desc_create)                                                      \
    CALL(dnnl, set_max_cpu_isa)                                                                    \
    CALL(dnnl, softmax_forward_desc_init)                                                          \
    CALL(dnnl, stream_create)                                                                      \
    CALL(dnnl, stream_destroy)                                                                     \
    CALL(dnnl, stream_wait)
#define OMP_CALLS(CALL) CALL(omp, set_num_threads)

/* Pointers with the types of the headers. */
#define ONEDNN_MEMBER(prefix, name) __typeof__(&prefix##_##name) name;
extern struct onednn_dnnl { DNNL_CALLS(ONEDNN_MEMBER) } dnnl;
extern struct onednn_omp { OMP_CALLS(ONEDNN_MEMBER) } omp;

/* Opens the library of the version that this was compiled with, once for all; any thread. Before
 * any other call. UNSUPPORTED names what is missing. */
NODISCARD int onednn_library_open(struct error *err);
