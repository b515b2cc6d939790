// SPDX-License-Identifier: Apache-2.0
/* A program of a user's that needs nothing of its machine: the size of each file it is asked about.
 * (Paths of tests/e2e/score/test_shim.sh have no quotes.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char line[1 << 20];

static void answer(char *items) {
    const char *comma = "";
    while (*items == '"') {
        char *end = strchr(items + 1, '"');
        struct stat info = {0};
        if (!end) {
            return;
        }
        *end = 0;
        stat(items + 1, &info);
        printf("%s%lld", comma, (long long)info.st_size);
        comma = ",";
        items = end + 1 + (end[1] == ',');
    }
}

int main(void) {
    while (fgets(line, sizeof line, stdin)) {
        const char *id = strstr(line, "\"id\":");
        char *items = strstr(line, "\"items\":[");
        if (id && items) {
            printf("{\"id\":%ld,\"results\":[", strtol(id + 5, NULL, 10));
            answer(items + 9);
            puts("]}");
            fprintf(stderr, "done with %ld\n", strtol(id + 5, NULL, 10));
        } else {
            puts("{\"ready\":true}");
        }
        fflush(stdout);
    }
    return 0;
}
