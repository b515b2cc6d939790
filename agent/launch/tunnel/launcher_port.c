// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/tunnel/launcher_port.h"

#include "agent/launch/tunnel/loaded_program.h"
#include "agent/launch/tunnel/preload_frame.h"
#include "lib/file.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTENS = 0x0a /* TCP_LISTEN in /proc/net/tcp */, LINE_MAX_BYTES = 512 };

/* Of a command line: the kernel takes 6 MiB. */
enum { CMDLINE_MAX_BYTES = 8 << 20 };

/* Loopback as these files write addresses: in words of four bytes, the machine's byte order. */
static const char *const four_names[] = {"0100007F", NULL};
static const char *const six_names[] = {"0000000000000000FFFF00000100007F", NULL};
static const char *const only_six_names[] = {"00000000000000000000000001000000", NULL};

static bool is_among(const char *const *names, const char *name) {
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* The inode of the socket that listens there; 0: none. */
static unsigned long find_socket(const char *path, const char *const *hosts, int port) {
    unsigned long found = 0;
    char line[LINE_MAX_BYTES];
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char host[33];
        unsigned at = 0, state = 0;
        unsigned long inode = 0;
        if (sscanf(line, " %*u: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu",
                   host, &at, &state, &inode) == 4 &&
            state == LISTENS && (int)at == port && is_among(hosts, host)) {
            found = inode;
        }
    }
    if (file) {
        fclose(file);
    }
    return found;
}

/* The name of the program that a loader runs; "": none is found. */
static const char *find_loaded(const char *pid, struct loaded_program *program) {
    char path[64], room[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : 1;
    for (size_t all = 0; size > 0 && all < CMDLINE_MAX_BYTES && !program->is_found;) {
        size = read(fd, room, sizeof room);
        loaded_program_add(program, room, (size_t)MAX(size, 0));
        all += (size_t)MAX(size, 0);
    }
    if (size == 0 && program->length > 0) {
        loaded_program_add(program, "", 1);
    }
    return program->is_found ? program->word : "";
}

static bool is_launcher(const char *pid) {
    static const char *const names[] = PRELOAD_LAUNCHERS;
    struct loaded_program program = {0};
    char path[64], room[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%.20s/exe", pid);
    ssize_t size = readlink(path, room, sizeof room - 1);
    room[MAX(size, 0)] = 0;
    const char *name = loaded_program_name(room);
    if (loaded_program_is_loader(name)) {
        name = find_loaded(pid, &program);
    }
    bool is_one = false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        is_one |= strcmp(name, names[i]) == 0;
    }
    return is_one;
}

static bool has_socket(const char *pid, const char *wanted) {
    char path[64], target[64];
    bool has_it = false;
    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !has_it && (entry = readdir(folder));) {
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[MAX(size, 0)] = 0;
        has_it = strcmp(target, wanted) == 0;
    }
    if (folder) {
        closedir(folder);
    }
    return has_it;
}

static bool belongs_to_launcher(unsigned long inode) {
    char wanted[64];
    bool does = false;
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    DIR *folder = inode ? opendir("/proc") : NULL;
    for (struct dirent *entry; folder && !does && (entry = readdir(folder));) {
        does = isdigit((unsigned char)entry->d_name[0]) && is_launcher(entry->d_name) &&
               has_socket(entry->d_name, wanted);
    }
    if (folder) {
        closedir(folder);
    }
    return does;
}

enum launcher_port launcher_port_find(int port) {
    if (belongs_to_launcher(find_socket("/proc/self/net/tcp", four_names, port)) ||
        belongs_to_launcher(find_socket("/proc/self/net/tcp6", six_names, port))) {
        return LAUNCHER_PORT_FOUR;
    }
    return belongs_to_launcher(find_socket("/proc/self/net/tcp6", only_six_names, port))
               ? LAUNCHER_PORT_SIX
               : LAUNCHER_PORT_NONE;
}
