// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/restart.h"

#include "lib/file.h"
#include "operator/kinds/batchscore/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* VOLUME/path -> its folder on this machine; NULL: it is not in a volume. The caller frees it. */
static char *folder_of(const char *spec_path, const json_t *folders) {
    AUTO(text_freep) char *volume = x_strndup(spec_path, strcspn(spec_path, "/"));
    const char *folder = json_string_value(json_object_get(folders, volume));
    const char *rest = spec_path + strlen(volume);
    return folder ? file_join(folder, rest + (*rest == '/')) : NULL;
}

/* A coordinator holds its run's lock while it is alive (agent/store/path_lock.h). */
static int check_nobody_lives(const char *memory, int *ret_fd, struct error *err) {
    AUTO(text_freep) char *path = file_join(memory, "lock");
    *ret_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (*ret_fd < 0) {
        return errno == ENOENT ? 0 : error_from_errno(err, errno, "--restart: %s", path);
    }
    return flock(*ret_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
               ? 0
               : error_set(err, ERROR_BUSY,
                           "--restart: a coordinator of this run lives and holds %s: let it end",
                           path);
}

int restart_forget(const json_t *object, const json_t *folders, struct error *err) {
    AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
    struct job_options options = {.folders = folders};
    if (batchscore_spec_read(object, &options, &spec, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *output = folder_of(spec.output_path, folders);
    if (!output) {
        return error_set(err, ERROR_INVALID,
                         "--restart: spec.output.path %s is in no folder of this machine: remove "
                         ".windlass/%s there, or choose another output",
                         spec.output_path, spec.job.run);
    }
    AUTO(text_freep) char *memory = x_printf("%s/.windlass/%s", output, spec.job.run);
    AUTO(fd_closep) int lock_fd = -1; /* held until everything is removed */
    if (access(memory, F_OK) < 0 && errno == ENOENT) {
        return 0;
    }
    if (check_nobody_lives(memory, &lock_fd, err) < 0) {
        return -1;
    }
    fprintf(stderr, "windlass: %s: what earlier runs have done is thrown away (%s)\n",
            spec.job.name, memory);
    return file_remove_tree(memory, err);
}
