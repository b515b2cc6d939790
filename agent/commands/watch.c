// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/pod_command.h"
#include "agent/score/coordinator/trigger_watcher.h"
#include "lib/options.h"

#include <stdio.h>
#include <stdlib.h>

/* A watcher needs less than a job: neither a token nor an address. */
int watch_command(int argc, char **argv) {
    static const struct option none[] = {{.name = NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent watch",
        .about = "Waits until a job's trigger appears or its input changes, then ends with a\n"
                 "termination message that describes it. Started by windlass, with its job in\n"
                 "environment variables (WINDLASS_SPEC, WINDLASS_MARK, and one for each volume).",
    };
    struct option_list words = {0};
    struct error err = {0};
    AUTO(tree_freep) json_t *spec = NULL;
    int result = options_read(argc, argv, &help, none, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || job_read_spec(&spec, &err) < 0) {
        fprintf(stderr, "windlass-agent %s: %s\n", argv[0], err.text);
        return error_exit_code(&err);
    }
    const char *mark = getenv("WINDLASS_MARK");
    struct watcher_options options = {.spec = spec, .mark = mark ? mark : ""};
    job_catch_signals();
    return watcher_run(&options);
}
