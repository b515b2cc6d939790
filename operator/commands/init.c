// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/init.h"

#include "lib/file.h"
#include "lib/text/nearest.h"
#include "operator/commands/cli_command.h"
#include "operator/kinds/kinds.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACEHOLDER "my-job"

struct request {
    const char *name, *output;
};

/* A line for each, or their names alone; owned. */
static char *list_all(bool is_table) {
    char *all = x_strdup("");
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        const struct kind_beginning *one = (*row)->beginnings;
        for (; one && one->name; one++) {
            AUTO(text_freep) char *before = all;
            AUTO(text_freep)
            char *line = is_table ? x_printf("  %-10s %s\n", one->name, one->about)
                                  : x_printf(" %s", one->name);
            all = x_printf("%s%s", before, line);
        }
    }
    return all;
}

static const struct kind_beginning *find(const char *name, const char **ret_near) {
    AUTO(tree_freep) json_t *names = json_object();
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        const struct kind_beginning *one = (*row)->beginnings;
        for (; one && one->name; one++) {
            if (strcmp(one->name, name) == 0) {
                return one;
            }
            json_object_set_new(names, one->name, json_string(one->name));
        }
    }
    const char *near = nearest_key(names, name);
    for (const struct kind_row *const *row = kind_rows; near && *row; row++) {
        const struct kind_beginning *one = (*row)->beginnings;
        for (; one && one->name; one++) {
            *ret_near = strcmp(one->name, near) == 0 ? one->name : *ret_near;
        }
    }
    return NULL;
}

/* The text with the job's name, and the file's where it is known; owned. */
static char *fill(const char *text, const char *name, const char *file) {
    char *all = x_strdup("");
    while (*text) {
        bool is_file = file && text_starts(text, " FILE ");
        bool is_name = text_starts(text, PLACEHOLDER);
        AUTO(text_freep) char *before = all;
        size_t length = is_name ? strlen(PLACEHOLDER) : is_file ? strlen(" FILE") : 1;
        all = is_name   ? x_printf("%s%s", before, name)
              : is_file ? x_printf("%s %s", before, file)
                        : x_printf("%s%c", before, *text);
        text += length;
    }
    return all;
}

static bool is_name(const char *name) {
    size_t length = strlen(name);
    return length > 0 && length <= 63 && islower((unsigned char)*name) && name[length - 1] != '-' &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == 0;
}

static int write_out(const struct request *request, const char *text, struct error *err) {
    if (!request->output) {
        return fputs(text, stdout) < 0 || fflush(stdout) != 0
                   ? error_set(err, ERROR_UNAVAILABLE, "cannot write the manifest: %m")
                   : 0;
    }
    if (access(request->output, F_OK) == 0) {
        return error_set(err, ERROR_INVALID, "-o %s: is there already, and stays as it is",
                         request->output);
    }
    if (file_write(request->output, text, strlen(text), err) < 0) {
        return -1;
    }
    fprintf(stderr, "next: change what is marked with <--, then windlass check -f %s\n",
            request->output);
    return 0;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    const struct request *request = context;
    const char *near = NULL;
    (void)ret_code;
    if (words->count == 0) {
        AUTO(text_freep) char *all = list_all(true);
        printf("%s\nwindlass init NAME > job.yaml\n", all);
        return 0;
    }
    const struct kind_beginning *one = find(words->values[0], &near);
    if (!one) {
        AUTO(text_freep) char *all = list_all(false);
        return error_set(err, ERROR_INVALID, "%s: unknown%s%s%s; there are%s", words->values[0],
                         near ? ", did you mean " : "", near ? near : "", near ? "?" : "", all);
    }
    AUTO(text_freep)
    char *standard = request->output ? cli_command_job_name(file_basename(request->output))
                                     : x_strdup(PLACEHOLDER);
    const char *name = request->name ? request->name : standard;
    if (!is_name(name)) {
        return error_set(err, ERROR_INVALID,
                         "--name %s: lower-case letters, digits and dashes, the first a letter",
                         name);
    }
    AUTO(text_freep) char *text = fill(one->text, name, request->output);
    return write_out(request, text, err);
}

int init_command(int argc, char **argv) {
    struct request request = {0};
    AUTO(text_freep) char *all = list_all(true);
    AUTO(text_freep)
    char *about = x_printf("Prints a manifest with comments to begin with. Without NAME it lists "
                           "them:\n\n%s\nWhat is marked with <-- has to be changed.",
                           all);
    const struct command_help help = {
        .usage = "windlass init [NAME] [options]",
        .about = about,
        .examples = "windlass init train -o flowers.yaml\n"
                    "windlass init score --name photos > photos.yaml",
        .words_max = 1,
    };
    const struct option options[] = {
        {"output", 'o', OPTION_TEXT, "FILE", "Write a new file instead.", &request.output},
        {"name", 0, OPTION_TEXT, "NAME", "The job's name (default: the file's).", &request.name},
        {0},
    };
    const struct cli_command command = {
        .name = "init", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
