// SPDX-License-Identifier: Apache-2.0
/* A store says that it creates objects exclusively only where that is proven: the calls that
 * show what a file system can do are answered here as SMB, NFS and others answer them. */
#include "agent/store/store.h"

#include "tests/unit/agent/data/tries.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

static enum {
    LINKS,
    NO_LINKS,
    LINKS_OVER /* what is there */,
    LOST_ANSWER /* of the first */
} links;
static long magic; /* 0: the file system's own */
static int link_calls;

/* These take the place of the C library's functions in this program. */
__attribute__((visibility("default"))) int fstatfs(int fd, struct statfs *status) {
    int (*real)(int, struct statfs *) = (int (*)(int, struct statfs *))dlsym(RTLD_NEXT, "fstatfs");
    int result = real(fd, status);
    status->f_type = magic ? magic : status->f_type;
    return result;
}
__attribute__((visibility("default"))) int linkat(int from_fd, const char *from, int to_fd,
                                                  const char *to, int flags) {
    int (*real)(int, const char *, int, const char *, int) =
        (int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat");
    if (links == NO_LINKS) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (links == LINKS_OVER) {
        (void)unlinkat(to_fd, to, 0);
    }
    int result = real(from_fd, from, to_fd, to, flags);
    if (links == LOST_ANSWER && link_calls++ == 0) {
        errno = EEXIST;
        return -1;
    }
    return result;
}

static int count_files(void) {
    char path[8192];
    snprintf(path, sizeof path, "%s/exclusive", fixtures_out);
    DIR *folder = opendir(path);
    int count = 0;
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (folder) {
        closedir(folder);
    }
    return count;
}

static void only_what_is_proven_is_exclusive(void) {
    static const struct {
        const char *what;
        long magic;
        int links;
        bool creates;
    } rows[] = {
        {"a disk", 0, LINKS, true},
        {"SMB with hard links", 0xFE534D42, LINKS, true},
        {"SMB without, as Azure Files", 0xFE534D42, NO_LINKS, false},
        {"SMB of cifs without", 0xFF534D42, NO_LINKS, false},
        {"SMB whose links replace", 0xFE534D42, LINKS_OVER, false},
        {"NFS", NFS_SUPER_MAGIC, LINKS, true},
        {"NFS without links", NFS_SUPER_MAGIC, NO_LINKS, false},
        {"NFS, an answer lost", NFS_SUPER_MAGIC, LOST_ANSWER, true},
        {"FUSE", FUSE_SUPER_MAGIC, LINKS, false},
        {"vfat on this machine", MSDOS_SUPER_MAGIC, NO_LINKS, true},
        {"an unknown one without links", 0x12345678, NO_LINKS, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        magic = rows[i].magic;
        links = rows[i].links;
        link_calls = 0;
        AUTO(store_freep) struct store *output = open_output("out/exclusive");
        if (store_features(output).creates != rows[i].creates) {
            printf("# %s\n", rows[i].what);
            CHECK(store_features(output).creates == rows[i].creates);
        }
        CHECK_INT(count_files(), 0); /* what was tried is removed */
        if (links != LINKS_OVER) {
            CHECK_OK(store_put(output, "it", "x", 1, STORE_CREATE, &err), &err);
            CHECK_INT(store_put(output, "it", "y", 1, STORE_CREATE, &err), -1);
            CHECK_INT(err.kind, ERROR_CONFLICT);
            err = (struct error){0};
            CHECK_OK(store_remove(output, "it", &err), &err);
        }
    }
    magic = 0;
    links = LINKS;
}

int main(void) {
    fixtures_start("path_exclusive");
    TEST(only_what_is_proven_is_exclusive);
    return TEST_END();
}
