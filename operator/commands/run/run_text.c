// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_text.h"

#include "lib/file.h"
#include "operator/commands/run/run.h"

#include <errno.h>
#include <stdio.h>
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

static int save_to(const char *path, const char *text, struct error *err) {
    if (strcmp(path, "-") == 0) {
        return fputs(text, stdout) < 0 || fflush(stdout) != 0
                   ? error_set(err, ERROR_UNAVAILABLE, "cannot write the manifest: %m")
                   : 0;
    }
    if (file_write(path, text, strlen(text), err) < 0) {
        return -1;
    }
    fprintf(stderr, "  windlass run -f %s does it; windlass check -f %s\n", path, path);
    return 0;
}

int run_text_run_or_save(const struct run_text *text, const char *save, int *ret_code,
                         struct error *err) {
    if (save) {
        return save_to(save, text->manifest, err);
    }
    if (run_text_run(text, ret_code, err) < 0) {
        return -1;
    }
    if (*ret_code == 0) {
        printf("The same on a cluster: --save job.yaml writes the manifest\n");
    }
    return 0;
}
