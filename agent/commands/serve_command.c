// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/serve_command.h"

#include "agent/job.h"
#include "agent/serve/presence.h"
#include "agent/serve/serve.h"
#include "lib/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

extern char **environ;

/* `windlass run` limits the worker's memory, and the server is another program. */
static void lift_memory_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_DATA, &limit);
    }
}

static int serve(const char *folder, char **words, struct error *err) {
    struct serve_options options = {.folder = folder,
                                    .words = (const char *const *)words,
                                    .variables = environ,
                                    .is_interrupted = job_is_interrupted};
    job_catch_signals();
    lift_memory_limit();
    return serve_run(&options, err);
}

/* The command's own flags are not ours: what is before "--" is read alone. */
int serve_command(int argc, char **argv) {
    static const struct option options[] = {{.name = NULL}};
    AUTO(text_freep)
    char *usage = x_printf("%s serve FOLDER -- COMMAND...", program_invocation_short_name);
    struct command_help help = {
        .usage = usage,
        .about = "Runs a worker's model server: starts it, starts it again when it ends, and ends\n"
                 "it when the worker has ended, which holds a lock on FOLDER/agent. Started by\n"
                 "windlass.",
        .words_min = 1,
        .words_max = 1};
    struct option_list folder = {0};
    struct error err = {0};
    int ours = 1;
    while (ours < argc && strcmp(argv[ours], "--") != 0) {
        ours++;
    }
    int result = options_read(ours, argv, &help, options, &folder, &err);
    if (result > 0) {
        return 0;
    }
    if (result == 0 && ours + 1 >= argc) {
        result = error_set(&err, ERROR_INVALID, "no command; usage: %s", usage);
    }
    if (result < 0 || serve(folder.values[0], argv + ours + 1, &err) < 0) {
        fprintf(stderr, "%s serve: %s\n", program_invocation_short_name, err.text);
        return error_exit_code(&err);
    }
    return 0;
}

int serve_command_announce(struct error *err) {
    const char *folder = getenv("WINDLASS_SERVER");
    int kept = -1;                                     /* open until this process ends */
    bool is_local = getenv("WINDLASS_FOLDER") != NULL; /* windlass run: the scorer starts it */
    return folder && !is_local ? presence_hold(folder, SERVE_AGENT, &kept, err) : 0;
}
