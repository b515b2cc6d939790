// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_state.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/local/runs/run_entry.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ~/.local/state/windlass/NAME-20261121-040000; when two runs start in the same second, one gets
 * -2. */
static int make_default(const char *name, char **ret_folder, struct error *err) {
    AUTO(text_freep) char *parent = NULL;
    if (run_entry_base(&parent, err) < 0) {
        return error_context(err, "no folder for the logs, give --state DIR");
    }
    if (file_make_folders(parent, err) < 0) {
        return -1;
    }
    char when[32];
    time_t now = (time_t)(clock_wall_ms() / 1000);
    struct tm parts;
    localtime_r(&now, &parts);
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", &parts);
    for (int number = 1;; number++) {
        AUTO(text_freep)
        char *path = number == 1 ? x_printf("%s/%s-%s", parent, name, when)
                                 : x_printf("%s/%s-%s-%d", parent, name, when, number);
        if (mkdir(path, 0777) == 0) {
            *ret_folder = TAKE(path);
            return 0;
        }
        if (errno != EEXIST || number == 100) {
            return error_from_errno(err, errno, "cannot make %s", path);
        }
    }
}

int run_state_make(const char *asked, const char *name, char **ret_folder, struct error *err) {
    if (!asked) {
        return make_default(name, ret_folder, err);
    }
    if (file_make_folders(asked, err) < 0) {
        return -1;
    }
    *ret_folder = realpath(asked, NULL);
    if (!*ret_folder || access(*ret_folder, W_OK | X_OK) < 0) {
        return error_from_errno(err, errno, "cannot write in %s", asked);
    }
    return 0;
}
