// SPDX-License-Identifier: Apache-2.0
/* The scripts ask the program itself: commands and options are those of --help, names those of
 * `windlass list`, so that there is nothing here to keep up to date. */
#include "operator/commands/completion.h"

#include "operator/commands/cli_command.h"

#include <stdio.h>
#include <string.h>

#define COMMANDS "windlass --help | sed -n '/^Commands:$/,/^$/s/^  \\([a-z]\\{1,\\}\\)  .*/\\1/p'"
#define OPTIONS(command)                                                                           \
    "windlass " command " --help 2>/dev/null | sed -n 's/^  .\\{0,4\\}\\(--[a-z-]*\\).*/\\1/p'"
#define NAMES "windlass list --local -o name 2>/dev/null | sed 's,.*/,,'"

static const char bash[] =
    "_windlass() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local command=${COMP_WORDS[1]}\n"
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        COMPREPLY=($(compgen -W \"$(" COMMANDS ")\" -- \"$word\"))\n"
    "    elif [[ $word == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$(" OPTIONS(
        "\"$command\"") ")\" -- \"$word\"))\n"
                        "    else\n"
                        "        case $command in\n"
                        "        status | logs | events | wait | top | cancel | suspend | resume | "
                        "rerun | delete)\n"
                        "            COMPREPLY=($(compgen -W \"$(" NAMES ")\" -- \"$word\")) ;;\n"
                        "        completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- "
                        "\"$word\")) ;;\n"
                        "        esac\n"
                        "        case $before in -f | --file | --state | --stores | --secrets) "
                        "COMPREPLY=() ;; esac\n"
                        "    fi\n"
                        "}\n"
                        "complete -o default -F _windlass windlass\n";

static const char zsh[] = "#compdef windlass\n"
                          "_windlass() {\n"
                          "    local command=${words[2]}\n"
                          "    if (( CURRENT == 2 )); then\n"
                          "        compadd -- ${(f)\"$(" COMMANDS ")\"}\n"
                          "    elif [[ ${words[CURRENT]} == -* ]]; then\n"
                          "        compadd -- ${(f)\"$(" OPTIONS(
                              "\"$command\"") ")\"}\n"
                                              "    else\n"
                                              "        case $command in\n"
                                              "        status | logs | events | wait | top | "
                                              "cancel | suspend | resume | rerun | delete)\n"
                                              "            compadd -- ${(f)\"$(" NAMES ")\"} ;;\n"
                                              "        completion) compadd bash zsh fish ;;\n"
                                              "        *) _files ;;\n"
                                              "        esac\n"
                                              "    fi\n"
                                              "}\n"
                                              "compdef _windlass windlass\n";

static const char fish[] =
    "function __windlass_command; set -l words (commandline -opc); echo $words[2]; end\n"
    "set -l named status logs events wait top cancel suspend resume rerun delete\n"
    "complete -c windlass -n __fish_use_subcommand -f -a \"(" COMMANDS ")\"\n"
    "complete -c windlass -n \"__fish_seen_subcommand_from $named\" -f -a \"(" NAMES ")\"\n"
    "complete -c windlass -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n"
    "complete -c windlass -n 'string match -q -- \"-*\" (commandline -ct)' -f -a \"(" OPTIONS(
        "(__windlass_command)") ")\"\n";

static int print(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    static const struct {
        const char *shell, *text;
    } scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    (void)context, (void)ret_code;
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        if (strcmp(words->values[0], scripts[i].shell) == 0) {
            return fputs(scripts[i].text, stdout) < 0 || fflush(stdout) != 0
                       ? error_set(err, ERROR_UNAVAILABLE, "cannot write the script: %m")
                       : 0;
        }
    }
    return error_set(err, ERROR_INVALID, "%s: expected bash, zsh or fish", words->values[0]);
}

int completion_command(int argc, char **argv) {
    static const struct command_help help = {
        .usage = "windlass completion SHELL",
        .about =
            "Prints the script that completes commands, options and names of runs in bash, zsh\n"
            "or fish.",
        .examples = "source <(windlass completion bash)\n"
                    "windlass completion fish > ~/.config/fish/completions/windlass.fish",
        .words_min = 1,
        .words_max = 1};
    static const struct option options[] = {{0}};
    const struct cli_command command = {
        .name = "completion", .help = &help, .options = options, .run = print};
    return cli_command_run(&command, argc, argv);
}
