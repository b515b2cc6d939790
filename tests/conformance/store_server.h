/* store_server.h: a real server of objects for a test program, installed if it is missing:
 * "azurite" (az://films/tests/..., az://results/tests/...), or "s3", Ceph's object gateway
 * (s3://films/..., s3://results/...). It ends with the program. The environment is set so that
 * stores find it. */
#pragma once

#include "lib/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct store_server {
    const char *name; /* of the folder in tests/ that has its start.sh */
    char *folder;     /* its files */
};

/* False: it does not start, and the scripts have printed the reason. */
static bool store_server_start(struct store_server *server, const char *name) {
    AUTO(text_freep)
    char *folder =
        x_printf("%s/windlass-%s-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", name);
    *server = (struct store_server){.name = name};
    if (!mkdtemp(folder)) {
        return false;
    }
    AUTO(text_freep)
    char *command = x_printf("tests/%s/start.sh start '%s' %d", name, folder, (int)getpid());
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
        return false;
    }
    signal(SIGPIPE, SIG_IGN); /* as http.h requires */
    server->folder = TAKE(folder);
    return true;
}

/* One that did not start is left as it is. */
static void store_server_stop(struct store_server *server) {
    struct error err = {0};
    if (!server->folder) {
        return;
    }
    AUTO(text_freep)
    char *command = x_printf("tests/%s/start.sh stop '%s'", server->name, server->folder);
    if (system(command) != 0 || file_remove_tree(server->folder, &err) < 0) {
        printf("# %s was not removed\n", server->folder);
    }
    free(server->folder);
    *server = (struct store_server){0};
}
