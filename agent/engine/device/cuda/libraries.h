/* libraries.h: cuDNN 9 and cuBLASLt 13. They are loaded when a GPU is opened, so that the same
 * program starts on machines without them. (CUDA's runtime is linked statically and needs only the
 * driver.) One table of functions for each library, named as in the library without its prefix. */
#pragma once

#include "lib/error.h"

#include <cublasLt.h>
#include <cudnn.h>

#define DNN_CALLS(CALL)                                                                            \
    CALL(Create)                                                                                   \
    CALL(Destroy)                                                                                  \
    CALL(SetStream)                                                                                \
    CALL(GetErrorString)                                                                           \
    CALL(CreateTensorDescriptor)                                                                   \
    CALL(DestroyTensorDescriptor)                                                                  \
    CALL(SetTensor4dDescriptorEx)                                                                  \
    CALL(CreateFilterDescriptor)                                                                   \
    CALL(DestroyFilterDescriptor)                                                                  \
    CALL(SetFilter4dDescriptor)                                                                    \
    CALL(CreateConvolutionDescriptor)                                                              \
    CALL(DestroyConvolutionDescriptor)                                                             \
    CALL(SetConvolution2dDescriptor)                                                               \
    CALL(SetConvolutionGroupCount)                                                                 \
    CALL(SetConvolutionMathType)                                                                   \
    CALL(CreateActivationDescriptor)                                                               \
    CALL(DestroyActivationDescriptor)                                                              \
    CALL(SetActivationDescriptor)                                                                  \
    CALL(GetConvolutionForwardAlgorithm_v7)                                                        \
    CALL(GetConvolutionForwardWorkspaceSize)                                                       \
    CALL(ConvolutionForward)                                                                       \
    CALL(ConvolutionBiasActivationForward)                                                         \
    CALL(GetConvolutionBackwardDataAlgorithm_v7)                                                   \
    CALL(GetConvolutionBackwardDataWorkspaceSize)                                                  \
    CALL(ConvolutionBackwardData)                                                                  \
    CALL(GetConvolutionBackwardFilterAlgorithm_v7)                                                 \
    CALL(GetConvolutionBackwardFilterWorkspaceSize)                                                \
    CALL(ConvolutionBackwardFilter)

#define LT_CALLS(CALL)                                                                             \
    CALL(Create)                                                                                   \
    CALL(Destroy)                                                                                  \
    CALL(GetStatusString)                                                                          \
    CALL(MatmulDescCreate)                                                                         \
    CALL(MatmulDescDestroy)                                                                        \
    CALL(MatmulDescSetAttribute)                                                                   \
    CALL(MatrixLayoutCreate)                                                                       \
    CALL(MatrixLayoutDestroy)                                                                      \
    CALL(MatrixLayoutSetAttribute)                                                                 \
    CALL(MatmulPreferenceCreate)                                                                   \
    CALL(MatmulPreferenceDestroy)                                                                  \
    CALL(MatmulPreferenceSetAttribute)                                                             \
    CALL(MatmulAlgoGetHeuristic)                                                                   \
    CALL(Matmul)

#define DNN_MEMBER(name) __typeof__(&cudnn##name) name;
#define LT_MEMBER(name) __typeof__(&cublasLt##name) name;
struct libraries {
    void *dnn_file, *lt_file;
    struct {
        DNN_CALLS(DNN_MEMBER)
    } dnn;
    struct {
        LT_CALLS(LT_MEMBER)
    } lt;
};

/* ERROR_UNAVAILABLE names what is missing and where to get it. */
NODISCARD int libraries_open(struct libraries *libraries, struct error *err);
void libraries_close(struct libraries *libraries);
