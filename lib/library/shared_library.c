// SPDX-License-Identifier: Apache-2.0
#include "lib/library/shared_library.h"

#include <dlfcn.h>
#include <string.h>

int shared_library_open(const char *soname, const struct shared_library_call *calls, size_t count,
                        struct error *err) {
    /* All its calls are bound now: none is missing in the middle of a job. */
    void *file = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        return error_set(err, ERROR_UNSUPPORTED, "%s", dlerror()); /* names the file */
    }
    for (size_t i = 0; i < count; i++) {
        if (!dlsym(file, calls[i].name)) {
            dlclose(file);
            return error_set(err, ERROR_UNSUPPORTED, "%s has no %s", soname, calls[i].name);
        }
    }
    for (size_t i = 0; i < count; i++) {
        void *call = dlsym(file, calls[i].name);
        memcpy(calls[i].address, &call, sizeof call);
    }
    return 0;
}
