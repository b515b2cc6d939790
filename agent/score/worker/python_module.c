// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/python_module.h"

#include "lib/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *python_module_find(void) {
    static const char *const folders[] = {PYTHON_MODULE_FOLDER,
                                          "../share/windlass/" PYTHON_MODULE_FOLDER};
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0) {
        return NULL;
    }
    self[size] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        AUTO(text_freep) char *folder = file_join(self, folders[i]);
        AUTO(text_freep) char *path = file_join(folder, PYTHON_MODULE_NAME);
        if (access(path, R_OK) == 0) {
            return TAKE(folder);
        }
    }
    return NULL;
}
