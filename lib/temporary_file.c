// SPDX-License-Identifier: Apache-2.0
#include "lib/temporary_file.h"

#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

FILE *temporary_file_open(struct error *err) {
    const char *folder = getenv("TMPDIR");
    folder = folder && *folder ? folder : "/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) { /* not every file system has files without names */
        AUTO(text_freep) char *path = file_join(folder, "windlass-XXXXXX");
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0) {
            unlink(path);
        }
    }
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (!file) {
        (void)error_from_errno(err, errno, "cannot make a file in $TMPDIR (%.200s)", folder);
        if (fd >= 0) {
            close(fd);
        }
    }
    return file;
}
