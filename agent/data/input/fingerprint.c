// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/fingerprint.h"

#include "agent/store/file_info.h"
#include "agent/store/path.h"
#include "lib/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { YOUNG = '~', CORE_MAX = FINGERPRINT_CORE_MAX };

void fingerprint_make_core(const struct store_info *info, bool is_local,
                           char ret_core[static CORE_MAX]) {
    if (!*info->token) {
        *ret_core = 0;
    } else if (is_local) {
        snprintf(ret_core, CORE_MAX, "%llx-%llx", (unsigned long long)info->size_bytes,
                 (unsigned long long)info->modified_ns);
    } else {
        snprintf(ret_core, CORE_MAX, "%s", info->token);
    }
    for (char *at = ret_core; *at; at++) { /* one word, without escapes */
        *at = *at <= ' ' || *at > '~' || *at == '"' || *at == '\\' ? '_' : *at;
    }
}

void fingerprint_make(const struct store_info *info, bool is_local, bool is_young,
                      char ret_print[static FINGERPRINT_MAX]) {
    char core[CORE_MAX];
    *ret_print = 0;
    if (!*info->token) {
        return;
    }
    fingerprint_make_core(info, is_local, core);
    snprintf(ret_print, FINGERPRINT_MAX, "%s%s %s-%llx", is_young ? "~" : "", core, info->token,
             (unsigned long long)info->changed_ns);
    for (char *at = ret_print; *at; at++) {
        *at = (unsigned char)*at < ' ' ? '_' : *at;
    }
}

bool fingerprint_is_known(const char *print, size_t size) {
    return size > 0 && *print != YOUNG;
}

size_t fingerprint_core(const char *print, size_t size, const char **ret_core) {
    const char *start = size > 0 && *print == YOUNG ? print + 1 : print;
    const char *end = size > 0 ? memchr(print, ' ', size) : NULL;
    if (!end || end <= start || end - start >= CORE_MAX) {
        return 0;
    }
    *ret_core = start;
    return (size_t)(end - start);
}

/* Of a time that ends with zeros: most likely this machine sees it no more exactly. */
static int64_t grain_of(int64_t time_ns) {
    static const int64_t grains[] = {1000000000, 1000000, 1000, 100};
    for (size_t i = 0; i < ARRAY_LEN(grains); i++) {
        if (time_ns % grains[i] == 0) {
            return grains[i];
        }
    }
    return 1;
}

static bool is_same_time(int64_t one_ns, int64_t other_ns) {
    int64_t grain_ns = MAX(grain_of(one_ns), grain_of(other_ns));
    return one_ns / grain_ns == other_ns / grain_ns;
}

bool fingerprint_holds(const struct store_info *info, bool is_local, const char *core) {
    char now[CORE_MAX];
    if (!core) {
        return true;
    }
    fingerprint_make_core(info, is_local, now);
    if (!*info->token || strcmp(now, core) == 0) {
        return *info->token;
    }
    char *dash = NULL;
    unsigned long long size = strtoull(core, &dash, 16);
    return is_local && *dash == '-' && size == (unsigned long long)info->size_bytes &&
           is_same_time((int64_t)strtoull(dash + 1, NULL, 16), info->modified_ns);
}

bool fingerprint_holds_file(const struct local_file *file, const char *core) {
    struct stat status;
    AUTO(fd_closep) int fd = -1;
    if (!core) {
        return true;
    }
    struct error ignored = {0};
    if (!file->is_disk && file->spec_path) {
        (void)!path_open(file->spec_path, &fd, &ignored);
    }
    if ((file->is_disk ? stat(file->path, &status) : fd < 0 ? -1 : fstat(fd, &status)) < 0) {
        return false;
    }
    struct store_info info = file_info(&status);
    return fingerprint_holds(&info, /* is_local= */ true, core);
}
