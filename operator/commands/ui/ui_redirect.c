// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_redirect.h"

#include "lib/file.h"
#include "operator/local/runs/run_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ui_redirect_make(const char *url, char **ret_path, struct error *err) {
    AUTO(text_freep) char *folder = NULL;
    if (run_entry_base(&folder, err) < 0 || file_make_folders(folder, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *path = x_printf("%s/ui-XXXXXX.html", folder);
    AUTO(fd_closep) int fd = mkostemps(path, (int)sizeof ".html" - 1, O_CLOEXEC); /* mode 0600 */
    if (fd < 0) {
        return error_from_errno(err, errno, "cannot make a file in %s", folder);
    }
    int size = dprintf(fd,
                       "<!doctype html><meta charset=\"utf-8\"><title>windlass ui</title>\n"
                       "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
                       "<a href=\"%s\">windlass ui</a>\n",
                       url, url);
    if (size < 0) {
        unlink(path);
        return error_from_errno(err, errno, "cannot write %s", path);
    }
    *ret_path = TAKE(path);
    return 0;
}

void ui_redirect_remove(char *path) {
    if (path) {
        unlink(path);
        free(path);
    }
}
