// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/pod_command.h"

#include "lib/options.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>

int pod_command_run(int argc, char **argv, const char *about, enum job_role role,
                    int (*run)(const struct job *job)) {
    static const struct option options[] = {{.name = NULL}};
    AUTO(text_freep) char *usage = x_printf("%s %s", program_invocation_short_name, argv[0]);
    struct command_help help = {.usage = usage, .about = about};
    struct option_list words = {0};
    struct error err = {0};
    struct job job = {0};
    /* A user's program runs as the same user, and on one machine (windlass run) beside all roles.
     * It must not read the token and the keys, neither in our memory nor through /proc. */
    prctl(PR_SET_DUMPABLE, 0);
    int result = options_read(argc, argv, &help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || job_read(role, &job, &err) < 0) {
        fprintf(stderr, "%s: %s\n", usage, err.text);
        return error_exit_code(&err);
    }
    job_catch_signals();
    int code = run(&job);
    job_release(&job);
    return code;
}

int pod_command_read_spec(int argc, char **argv, const struct command_help *help,
                          json_t **ret_spec) {
    static const struct option options[] = {{.name = NULL}};
    struct option_list words = {0};
    struct error err = {0};
    int result = options_read(argc, argv, help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || job_read_spec(ret_spec, &err) < 0) {
        fprintf(stderr, "%s: %s\n", help->usage, err.text);
        return error_exit_code(&err);
    }
    return -1;
}
