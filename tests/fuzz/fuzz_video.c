// SPDX-License-Identifier: Apache-2.0
/* A few kilobytes as a video file: checks whether it is complete, and lists its frames. */
#include "agent/data/video/video_index.h"
#include "lib/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = P_tmpdir "/windlass-fuzz-XXXXXX", path[64];

static void clean_up(void) {
    struct error err = {0};
    (void)!file_remove_tree(folder, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!path[0]) {
        if (!mkdtemp(folder) || atexit(clean_up) != 0) {
            abort();
        }
        snprintf(path, sizeof path, "%s/film", folder);
        setenv("volume", folder, 1);
        setenv("WINDLASS_THREADS", "1", 1);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || size > 16384 || write(fd, data, size) != (ssize_t)size) {
        return close(fd), 0;
    }
    close(fd);
    struct error err = {0};
    struct video_index index;
    if (video_index_build(&index, "volume/film", NULL, &err) == 0) {
        video_index_release(&index);
    }
    return 0;
}
