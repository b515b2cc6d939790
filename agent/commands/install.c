// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/install.h"

#include "agent/score/worker/python_module.h"
#include "lib/file.h"
#include "lib/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 256 << 20 };

/* The bundle of Debian's ca-certificates. */
#define AUTHORITIES "/etc/ssl/certs/ca-certificates.crt"

/* The copy is atomic. Every user may read the file, since the other container may run as another
 * user. */
static int copy(const char *from, const char *folder, const char *name, mode_t mode,
                struct error *err) {
    AUTO(text_freep) char *to = file_join(folder, name);
    AUTO(text_freep) char *data = NULL;
    size_t size = 0;
    if (file_read(from, FILE_MAX, &data, &size, err) < 0 || file_write(to, data, size, err) < 0) {
        return -1;
    }
    return chmod(to, mode) < 0 ? error_from_errno(err, errno, "%s", to) : 0;
}

/* The shim is in this program's folder. */
static int find_shim(char **ret_path, struct error *err) {
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0) {
        return error_from_errno(err, errno, "/proc/self/exe");
    }
    self[size] = 0;
    *strrchr(self, '/') = 0;
    *ret_path = file_join(self, "windlass-shim");
    return 0;
}

/* The other container may run as another user, and has only what is mounted there. */
static int copy_secrets(const char *from, const char *folder, struct error *err) {
    static const char *const names[] = {"token", "tls.key", "signing.key", "query.connection"};
    AUTO(text_freep) char *to = file_join(folder, "secrets");
    if (file_make_folders(to, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(text_freep) char *path = file_join(from, names[i]);
        if (access(path, F_OK) == 0 && copy(path, to, names[i], 0444, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* What programs in Python import, for the other container's. */
static int copy_python(const char *folder, struct error *err) {
    AUTO(text_freep) char *from = python_module_find();
    if (!from) {
        return 0;
    }
    AUTO(text_freep) char *path = file_join(from, PYTHON_MODULE_NAME);
    AUTO(text_freep) char *to = file_join(folder, PYTHON_MODULE_FOLDER);
    return file_make_folders(to, err) < 0 ? -1 : copy(path, to, PYTHON_MODULE_NAME, 0644, err);
}

static int install(const char *folder, const char *secrets, struct error *err) {
    AUTO(text_freep) char *shim = NULL;
    if (find_shim(&shim, err) < 0 || copy(AUTHORITIES, folder, "ca.crt", 0644, err) < 0 ||
        copy_python(folder, err) < 0 || (secrets && copy_secrets(secrets, folder, err) < 0)) {
        return -1;
    }
    return copy(shim, folder, "windlass-shim", 0755, err);
}

int install_command(int argc, char **argv) {
    const char *secrets = NULL;
    const struct option options[] = {{"secrets", 0, OPTION_TEXT, "FOLDER",
                                      "Also copies the job's token and keys from there, to "
                                      "FOLDER/secrets, where the agent of the "
                                      "other container removes them as it reads them.",
                                      &secrets},
                                     {.name = NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent install [--secrets FOLDER] FOLDER",
        .about =
            "Copies windlass-shim from this program's folder, and this machine's certificate\n"
            "authorities (ca.crt), into an existing folder. An init container runs it, so that\n"
            "a worker can be a container of any image.",
        .words_min = 1,
        .words_max = 1,
    };
    struct option_list words = {0};
    struct error err = {0};
    int result = options_read(argc, argv, &help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || install(words.values[0], secrets, &err) < 0) {
        fprintf(stderr, "windlass-agent install: %s\n", err.text);
        return error_exit_code(&err);
    }
    return 0;
}
