// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/cli_command.h"

#include <stdio.h>

int cli_command_run(const struct cli_command *command, int argc, char **argv) {
    struct option_list words = {0};
    struct error err = {0};
    int result = options_read(argc, argv, command->help, command->options, &words, &err);
    if (result > 0) {
        return 0;
    }
    int code = 0;
    if (result < 0 || command->run(command->context, &words, &code, &err) < 0) {
        fflush(stdout); /* the error comes after what was printed before it */
        fprintf(stderr, "windlass %s: %s\n", command->name, err.text);
        return error_exit_code(&err);
    }
    return code;
}
