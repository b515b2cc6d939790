// SPDX-License-Identifier: Apache-2.0
/* `windlass-agent watch`: waits until a job's trigger appears or its input changes. */
#include "agent/commands/pod_command.h"
#include "agent/score/coordinator/trigger_watcher.h"

#include <stdlib.h>

/* A watcher needs less than a job: neither a token nor an address. */
int watch_command(int argc, char **argv) {
    static const struct command_help help = {
        .usage = "windlass-agent watch",
        .about = "Waits until a job's trigger appears or its input changes, then ends with a\n"
                 "termination message that describes it. Started by windlass, with its job in\n"
                 "environment variables (WINDLASS_SPEC, WINDLASS_MARK, and one for each volume).",
    };
    AUTO(tree_freep) json_t *spec = NULL;
    int code = pod_command_read_spec(argc, argv, &help, &spec);
    if (code >= 0) {
        return code;
    }
    const char *mark = getenv("WINDLASS_MARK");
    struct watcher_options options = {.spec = spec, .mark = mark ? mark : ""};
    job_catch_signals();
    return watcher_run(&options);
}
