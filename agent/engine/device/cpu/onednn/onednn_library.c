// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/onednn/onednn_library.h"

#include "lib/library/shared_library.h"

#include <pthread.h>

#define TEXT_OF(number) #number
#define SONAME(version) "libdnnl.so." TEXT_OF(version)
SHARED_LIBRARY_NOTE(dnnl_note, SONAME(DNNL_VERSION_MAJOR), "networks");

struct onednn_dnnl dnnl;
struct onednn_omp omp;

#define ROW(prefix, name) {#prefix "_" #name, &prefix.name},
/* OpenMP is found through oneDNN, which needs it itself. */
static const struct shared_library_call calls[] = {DNNL_CALLS(ROW) OMP_CALLS(ROW)};

static struct error failure; /* kind NONE: it is open */

static void open_it(void) {
    if (shared_library_open(SONAME(DNNL_VERSION_MAJOR), calls, ARRAY_LEN(calls), &failure) < 0) {
        error_context(&failure, "networks need oneDNN, of which a library is missing here");
    }
}

int onednn_library_open(struct error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_it);
    return failure.kind ? error_set(err, failure.kind, "%s", failure.text) : 0;
}
