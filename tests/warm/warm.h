/* warm.h: what server.c and client.c agree on. A socket takes one call for each connection: a
 * struct call with the descriptors 0 to count - 1 of `descriptors` beside it (the folder that the
 * program starts in is the last one), then its texts. After that each byte from the client is a
 * signal for the program, and the end of the connection kills it; the server answers once, by
 * what wait(2) reports. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WARM_DESCRIPTORS = 60, WARM_LIMITS = RLIM_NLIMITS, WARM_TEXT = 1 << 20 };

struct warm_call {
    int32_t count;                         /* of descriptors, without the folder */
    int32_t descriptors[WARM_DESCRIPTORS]; /* their numbers in the program */
    int32_t arguments, variables;          /* how many */
    int32_t nice;
    int32_t bytes; /* of all texts, each with a zero at its end */
    uint32_t mask; /* umask */
    struct rlimit limits[WARM_LIMITS];
};

/* Where the server of a program is, for callers of this user in these namespaces: others find
 * none, and start the program itself. */
static inline int warm_address(char *path, size_t room, const char *folder, const char *program) {
    unsigned long spaces = 0;
    const char *names[] = {"mnt", "net", "pid", "user"};
    for (int i = 0; i < 4; i++) {
        char name[32];
        struct stat info;
        snprintf(name, sizeof name, "/proc/self/ns/%s", names[i]);
        spaces = spaces * 1000003 + (stat(name, &info) == 0 ? info.st_ino : 0);
    }
    int length = snprintf(path, room, "%s/%s.%lx.%d", folder, program, spaces, (int)geteuid());
    return length < (int)room ? 0 : -1;
}
