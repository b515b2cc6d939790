/* s3.h: Ceph's object gateway for a test program, fetched if it is missing. It ends with the
 * program. The environment is set so that stores find it: s3://films/..., s3://results/... */
#pragma once

#include "lib/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Its folder (tests/s3/start.sh), which s3_stop removes. NULL: it does not start, and the scripts
 * have printed the reason. */
static char *s3_start(void) {
    char *folder = x_printf("%s/windlass-s3-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(folder)) {
        return NULL;
    }
    AUTO(text_freep)
    char *command = x_printf("tests/s3/start.sh start '%s' %d", folder, (int)getpid());
    FILE *output = popen(command, "r");
    char line[4096];
    while (output && fgets(line, sizeof line, output)) {
        char *value = strchr(line, '=');
        line[strcspn(line, "\n")] = 0;
        if (value) {
            *value = 0;
            setenv(line, value + 1, 1);
        }
    }
    if (!output || pclose(output) != 0) {
        free(folder);
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN); /* as http.h requires */
    return folder;
}

static void s3_stop(char **folder) {
    struct error err = {0};
    AUTO(text_freep) char *command = x_printf("tests/s3/start.sh stop '%s'", *folder);
    if (system(command) != 0 || file_remove_tree(*folder, &err) < 0) {
        printf("# %s was not removed\n", *folder);
    }
    free(*folder);
    *folder = NULL;
}
