// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/fast/parallel.h"

#include <omp.h>

void parallel_for(int threads, int count, void (*body)(void *context, int index, int thread),
                  void *context) {
    if (threads <= 1 || count <= 1) {
        for (int i = 0; i < count; i++) {
            body(context, i, 0);
        }
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int i = 0; i < count; i++) {
        body(context, i, omp_get_thread_num());
    }
}
