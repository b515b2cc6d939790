// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/program.h"

#include "lib/base.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static int usage(const struct program *program, FILE *to) {
    fprintf(to, "%s %s: %s\n\nUsage: %s COMMAND [options]\n\nCommands:\n", program->name,
            WINDLASS_VERSION, program->about, program->name);
    for (const struct program_command *row = program->commands; row->name; row++) {
        fprintf(to, "  %-12s %s\n", row->name, row->about);
    }
    fprintf(to, "\n`%s COMMAND --help` shows the options of a command.\n%s", program->name,
            program->notes);
    return to == stdout ? 0 : 2;
}

int program_run(const struct program *program, int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    program_main *other = program->main_of_link(argc > 0 ? argv[0] : NULL);
    if (other) {
        return other(argc, argv);
    }
    if (argc < 2) {
        return usage(program, stderr);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("%s %s\n", program->name, WINDLASS_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        return usage(program, stdout);
    }
    for (const struct program_command *row = program->commands; row->name; row++) {
        if (strcmp(argv[1], row->name) == 0) {
            return row->main(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "%s: %s: unknown command (%s --help lists them)\n", program->name, argv[1],
            program->name);
    return 2;
}
