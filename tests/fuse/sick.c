// SPDX-License-Identifier: Apache-2.0
/* A mount that fails on command, for tests/e2e/storage/test_fuse.sh: a folder seen through
 * FUSE, as blobfuse shows a container. It has no link(), creates nothing exclusively and renames
 * over existing files whatever the flags are.
 *
 *     sick FOLDER MOUNTPOINT CONTROL
 *
 * CONTROL is a file with the fault, read all the time: "well", "eio", "estale", "enotconn",
 * "enospc", "erofs", or "hang" (until it changes; a process that is killed meanwhile is released,
 * as with NFS). Each may be followed by " data": then names and attributes work; by a name: then
 * only giving a written file that name fails; or by " look NAME": then folders do not say the
 * types of their entries, and only the attributes of the file NAME cannot be read. kill -9 leaves a
 * dead mount. */
#define FUSE_USE_VERSION 31
#include <fuse.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LOOK_MS = 5, HANG = -1 };

static const char *control;
static int folder_fd;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int trouble; /* under the lock: an errno, HANG, or 0 */
static bool is_of_data, is_of_look;
static char is_of_name[32]; /* "": all names */

/* ---- trouble -------------------------------------------------------------------------------- */

static void look(void) {
    static const struct {
        const char *name;
        int trouble;
    } rows[] = {{"well", 0},        {"eio", EIO},     {"estale", ESTALE}, {"enotconn", ENOTCONN},
                {"enospc", ENOSPC}, {"erofs", EROFS}, {"hang", HANG}};
    char text[128] = "", mode[32] = "", scope[32] = "", name[32] = "";
    int fd = open(control, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0) {
        text[0] = 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    if (sscanf(text, "%31s %31s %31s", mode, scope, name) < 1) {
        return; /* it is being written */
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(mode, rows[i].name) == 0) {
            pthread_mutex_lock(&lock);
            trouble = rows[i].trouble;
            is_of_data = strcmp(scope, "data") == 0;
            is_of_look = strcmp(scope, "look") == 0;
            snprintf(is_of_name, sizeof is_of_name, "%s",
                     is_of_look   ? name
                     : is_of_data ? ""
                                  : scope);
            pthread_mutex_unlock(&lock);
        }
    }
}

static void *watch(void *unused) {
    for (;; poll(NULL, 0, LOOK_MS)) {
        look();
    }
    return unused;
}

/* Every call begins with it. Returns 0, or minus the errno to answer. path: new name, or NULL. */
static int ill_of(bool is_data, bool is_look, const char *path) {
    const char *last = path ? strrchr(path, '/') : NULL;
    for (;; poll(NULL, 0, LOOK_MS)) {
        pthread_mutex_lock(&lock);
        bool is_meant = !is_of_name[0] || (last && strcmp(last + 1, is_of_name) == 0);
        is_meant = is_meant && is_look == is_of_look;
        int now = is_meant && (is_data || !is_of_data) ? trouble : 0;
        pthread_mutex_unlock(&lock);
        if (now != HANG) {
            return -now;
        }
        if (fuse_interrupted()) {
            return -EINTR;
        }
    }
}

static int ill_as(bool is_data, const char *path) {
    return ill_of(is_data, /* is_look= */ false, path);
}

static int ill(bool is_data) {
    return ill_as(is_data, NULL);
}

static bool has_types(void) {
    pthread_mutex_lock(&lock);
    bool has = !is_of_look;
    pthread_mutex_unlock(&lock);
    return has;
}

/* The result of a system call in FUSE's form. */
static int answer(int result) {
    return result < 0 ? -errno : 0;
}

/* "/a/b" -> "a/b". */
static const char *below(const char *path) {
    return path[1] ? path + 1 : ".";
}

/* ---- names and attributes ------------------------------------------------------------------- */

static int sick_getattr(const char *path, struct stat *status, struct fuse_file_info *file) {
    int is = has_types() ? ill(false) : ill_of(false, /* is_look= */ true, path);
    return is ? is
              : answer(file ? fstat((int)file->fh, status)
                            : fstatat(folder_fd, below(path), status, AT_SYMLINK_NOFOLLOW));
}

static int sick_readlink(const char *path, char *target, size_t size) {
    int is = ill(false);
    ssize_t length = is ? 0 : readlinkat(folder_fd, below(path), target, size - 1);
    if (is || length < 0) {
        return is ? is : -errno;
    }
    target[length] = 0;
    return 0;
}

static int sick_statfs(const char *path, struct statvfs *status) {
    (void)path;
    int is = ill(false);
    return is ? is : answer(fstatvfs(folder_fd, status));
}

static int sick_opendir(const char *path, struct fuse_file_info *file) {
    (void)path;
    (void)file;
    return ill(false);
}

static int sick_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
                        struct fuse_file_info *file, enum fuse_readdir_flags flags) {
    (void)offset;
    (void)file;
    (void)flags;
    int is = ill(false);
    int fd = is ? -1 : openat(folder_fd, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (is || fd < 0) {
        return is ? is : -errno;
    }
    DIR *entries = fdopendir(fd);
    for (struct dirent *entry; (entry = readdir(entries));) {
        struct stat status = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};
        status.st_mode = has_types() ? status.st_mode : 0;
        if (fill(buffer, entry->d_name, &status, 0, 0)) {
            break;
        }
    }
    closedir(entries);
    return 0;
}

/* ---- changes -------------------------------------------------------------------------------- */

static int sick_mknod(const char *path, mode_t mode, dev_t device) {
    int is = ill(true);
    return is ? is : answer(mknodat(folder_fd, below(path), mode, device));
}

static int sick_mkdir(const char *path, mode_t mode) {
    int is = ill(true);
    return is ? is : answer(mkdirat(folder_fd, below(path), mode));
}

static int sick_unlink(const char *path) {
    int is = ill(true);
    return is ? is : answer(unlinkat(folder_fd, below(path), 0));
}

static int sick_rmdir(const char *path) {
    int is = ill(true);
    return is ? is : answer(unlinkat(folder_fd, below(path), AT_REMOVEDIR));
}

static int sick_symlink(const char *target, const char *path) {
    int is = ill(true);
    return is ? is : answer(symlinkat(target, folder_fd, below(path)));
}

static int sick_rename(const char *from, const char *to, unsigned flags) {
    (void)flags; /* RENAME_NOREPLACE among them */
    int is = ill_as(true, to);
    return is ? is : answer(renameat(folder_fd, below(from), folder_fd, below(to)));
}

static int sick_chmod(const char *path, mode_t mode, struct fuse_file_info *file) {
    (void)file;
    int is = ill(true);
    return is ? is : answer(fchmodat(folder_fd, below(path), mode, 0));
}

static int sick_utimens(const char *path, const struct timespec times[2],
                        struct fuse_file_info *file) {
    (void)file;
    int is = ill(true);
    return is ? is : answer(utimensat(folder_fd, below(path), times, AT_SYMLINK_NOFOLLOW));
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static int open_file(const char *path, int flags, mode_t mode, struct fuse_file_info *file) {
    int is = ill(true);
    int fd = is ? -1 : openat(folder_fd, below(path), (flags & ~O_EXCL) | O_CLOEXEC, mode);
    file->fh = (uint64_t)fd;
    return is ? is : fd < 0 ? -errno : 0;
}

static int sick_create(const char *path, mode_t mode, struct fuse_file_info *file) {
    return open_file(path, file->flags | O_CREAT, mode, file);
}

static int sick_open(const char *path, struct fuse_file_info *file) {
    return open_file(path, file->flags, 0, file);
}

static int sick_read(const char *path, char *data, size_t size, off_t offset,
                     struct fuse_file_info *file) {
    (void)path;
    int is = ill(true);
    ssize_t got = is ? 0 : pread((int)file->fh, data, size, offset);
    return is ? is : got < 0 ? -errno : (int)got;
}

static int sick_write(const char *path, const char *data, size_t size, off_t offset,
                      struct fuse_file_info *file) {
    (void)path;
    int is = ill(true);
    ssize_t wrote = is ? 0 : pwrite((int)file->fh, data, size, offset);
    return is ? is : wrote < 0 ? -errno : (int)wrote;
}

static int sick_truncate(const char *path, off_t size, struct fuse_file_info *file) {
    int is = ill(true);
    int fd = is ? -1 : file ? (int)file->fh : openat(folder_fd, below(path), O_WRONLY | O_CLOEXEC);
    if (is || fd < 0) {
        return is ? is : -errno;
    }
    int result = answer(ftruncate(fd, size));
    if (!file) {
        close(fd);
    }
    return result;
}

static int sick_flush(const char *path, struct fuse_file_info *file) {
    (void)path;
    (void)file;
    return ill(true);
}

static int sick_fsync(const char *path, int only_data, struct fuse_file_info *file) {
    (void)path;
    (void)only_data;
    int is = ill(true);
    return is ? is : answer(fsync((int)file->fh));
}

static int sick_release(const char *path, struct fuse_file_info *file) {
    (void)path;
    close((int)file->fh);
    return 0;
}

/* ---- the mount ------------------------------------------------------------------------------ */

/* libfuse wakes the thread of a call that no process waits for any more. */
static void on_interrupt(int number) {
    (void)number;
}

/* Names and attributes are not cached, as with our mount options of blobfuse. */
static void *sick_init(struct fuse_conn_info *connection, struct fuse_config *config) {
    (void)connection;
    pthread_t thread;
    config->intr = 1;
    config->hard_remove = 1;
    config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
    if (pthread_create(&thread, NULL, watch, NULL) != 0) {
        exit(1);
    }
    return NULL;
}

static const struct fuse_operations operations = {
    .init = sick_init,
    .getattr = sick_getattr,
    .readlink = sick_readlink,
    .statfs = sick_statfs,
    .opendir = sick_opendir,
    .readdir = sick_readdir,
    .mknod = sick_mknod,
    .mkdir = sick_mkdir,
    .unlink = sick_unlink,
    .rmdir = sick_rmdir,
    .symlink = sick_symlink,
    .rename = sick_rename,
    .chmod = sick_chmod,
    .utimens = sick_utimens,
    .create = sick_create,
    .open = sick_open,
    .read = sick_read,
    .write = sick_write,
    .truncate = sick_truncate,
    .flush = sick_flush,
    .fsync = sick_fsync,
    .release = sick_release,
};

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: sick FOLDER MOUNTPOINT CONTROL\n");
        return 2;
    }
    folder_fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
    control = argv[3];
    if (folder_fd < 0) {
        perror(argv[1]);
        return 1;
    }
    umask(0);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_interrupt}, NULL);
    look();
    /* Each hanging call keeps a thread. */
    char in_front[] = "-f", option[] = "-o", options[] = "fsname=sick,max_threads=200";
    char *words[] = {argv[0], argv[2], in_front, option, options, NULL};
    return fuse_main(5, words, &operations, NULL);
}
