// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_text.h"

#include "operator/commands/run/run.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int run_text_run(const struct run_text *text, int *ret_code, struct error *err) {
    AUTO(fd_closep) int fd = memfd_create("manifest", MFD_CLOEXEC);
    size_t size = strlen(text->manifest);
    if (fd < 0 || write(fd, text->manifest, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0 ||
        dup2(fd, STDIN_FILENO) < 0) {
        return error_from_errno(err, errno, "cannot write the manifest to memory");
    }
    const char *words[5 + 2 * ARRAY_LEN(text->options)] = {"run", "-f", "-"};
    int count = 3;
    for (size_t i = 0; i < ARRAY_LEN(text->options); i++) {
        if (text->options[i][0] && text->options[i][1]) {
            words[count++] = text->options[i][0];
            words[count++] = text->options[i][1];
        }
    }
    if (text->restarts) {
        words[count++] = "--restart";
    }
    *ret_code = run_command(count, (char **)(uintptr_t)words);
    return 0;
}
