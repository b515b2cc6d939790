// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/cli_command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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

char *cli_command_job_name(const char *path) {
    enum { NAME_MAX_BYTES = 45 };
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = MIN(strcspn(base, "."), (size_t)NAME_MAX_BYTES - 4);
    AUTO(text_freep) char *given = x_strndup(base, length);
    char *name = x_printf("%s%s", isalpha((unsigned char)*given) ? "" : "job-", given);
    for (char *at = name; *at; at++) {
        *at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
    }
    for (size_t end = strlen(name); end > 1 && name[end - 1] == '-'; end--) {
        name[end - 1] = 0;
    }
    return name;
}
