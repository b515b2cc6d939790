// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cuda/libraries.h"

#include <dlfcn.h>
#include <string.h>

struct call_name {
    const char *name;
    size_t offset;
};

#define DNN_NAME(name) {"cudnn" #name, offsetof(struct libraries, dnn.name)},
#define LT_NAME(name) {"cublasLt" #name, offsetof(struct libraries, lt.name)},
static const struct call_name dnn_names[] = {DNN_CALLS(DNN_NAME)};
static const struct call_name lt_names[] = {LT_CALLS(LT_NAME)};

static int open_one(struct libraries *libraries, const char *file, const struct call_name *names,
                    size_t count, void **ret_file, struct error *err) {
    static const char advice[] = "the image windlass-agent-cuda has it; elsewhere put its folder "
                                 "into LD_LIBRARY_PATH";
    *ret_file = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!*ret_file) {
        return error_set(err, ERROR_UNAVAILABLE, "device \"cuda\": %s is missing (%s); %s", file,
                         dlerror(), advice);
    }
    for (size_t i = 0; i < count; i++) {
        void *call = dlsym(*ret_file, names[i].name);
        if (!call) {
            return error_set(err, ERROR_UNAVAILABLE, "device \"cuda\": %s has no %s; %s", file,
                             names[i].name, advice);
        }
        memcpy((char *)libraries + names[i].offset, &call, sizeof call);
    }
    return 0;
}

int libraries_open(struct libraries *libraries, struct error *err) {
    *libraries = (struct libraries){0};
    if (open_one(libraries, "libcudnn.so.9", dnn_names, ARRAY_LEN(dnn_names), &libraries->dnn_file,
                 err) < 0 ||
        open_one(libraries, "libcublasLt.so.13", lt_names, ARRAY_LEN(lt_names), &libraries->lt_file,
                 err) < 0) {
        libraries_close(libraries);
        return -1;
    }
    return 0;
}

void libraries_close(struct libraries *libraries) {
    if (libraries->dnn_file) {
        dlclose(libraries->dnn_file);
    }
    if (libraries->lt_file) {
        dlclose(libraries->lt_file);
    }
    *libraries = (struct libraries){0};
}
