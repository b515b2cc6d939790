// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/program.h"

#include "agent/data/decoder/decoder.h"
#include "lib/log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(const struct program *program, FILE *to) {
    fprintf(to, "%s %s: %s\n\nUsage: %s [--log-format=text|json] COMMAND [options]\n\nCommands:\n",
            program->name, WINDLASS_VERSION, program->about, program->name);
    for (const struct program_command *row = program->commands; row->name; row++) {
        fprintf(to, "  %-12s %s\n", row->name, row->about);
    }
    fprintf(to, "\n`%s COMMAND --help` shows the options of a command.\n%s", program->name,
            program->notes);
    return to == stdout ? 0 : 2;
}

/* How this process logs: the option before the command, else the variable that the controller gives
 * to pods. -1: neither "text" nor "json". *ret_first: index of the command. */
static int read_log_format(const struct program *program, int argc, char **argv, int *ret_first) {
    static const char option[] = "--log-format=";
    bool is_given = argc > 1 && strncmp(argv[1], option, sizeof option - 1) == 0;
    const char *variable = getenv("WINDLASS_LOG_FORMAT");
    const char *text = is_given ? argv[1] + sizeof option - 1 : variable ? variable : "text";
    enum log_format format;
    *ret_first = is_given ? 2 : 1;
    if (!log_format_parse(text, &format)) {
        fprintf(stderr, "%s: %s%s: expected text or json\n", program->name,
                is_given ? option : "WINDLASS_LOG_FORMAT=", text);
        return -1;
    }
    log_set_format(format);
    log_set_job(getenv("WINDLASS_JOB"));
    return 0;
}

static int choose_decoder(const struct program *program) {
    struct error err = {0};
    if (program->decoder && decoder_choose("/proc/self/exe", &err) < 0) {
        fprintf(stderr, "%s: %s\n", program->name, err.text);
        return -1;
    }
    return 0;
}

int program_run(const struct program *program, int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ,
           SIG_IGN); /* a file that would become too large: a failed write, as a full disk's */
    int first;
    if (program->decoder && argc > 1 && strcmp(argv[1], "decoder") == 0) {
        return program->decoder(argc, argv);
    }
    if (choose_decoder(program) < 0) {
        return 2;
    }
    if (read_log_format(program, argc, argv, &first) < 0) {
        return 2;
    }
    argc -= first - 1;
    argv[first - 1] = argv[0];
    argv += first - 1;
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
