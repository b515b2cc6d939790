// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_options.h"

#include "operator/commands/run/run_help.h"
#include "operator/kinds/kinds.h"

#include <stdio.h>
#include <string.h>

enum { WORKERS_MAX = 1024 };

int run_options_read(struct run_options *run, int argc, char **argv, struct error *err) {
    bool restarts_by_old_name = false;
    AUTO(run_help_release) struct run_help texts = {0};
    run_help_make(&texts);
    const struct command_help help = {
        .usage = "windlass run -f FILE [options]",
        .about = texts.about,
        .examples = "windlass run -f examples/style-transfer/batchscore.yaml\n"
                    "windlass run -f job.yaml --volume media=/data/films --workers 4\n"
                    "windlass run -f pipeline/ --set day=2026-11-22",
    };
    const struct option options[] = {
        {"file", 'f', OPTION_LIST, "FILE", texts.file, &run->files},
        {"volume", 0, OPTION_LIST, "NAME=DIR", "The folder of a volume; may be repeated.",
         &run->volumes},
        {"set", 0, OPTION_LIST, "NAME=VALUE",
         "Changes a value of spec.parameters; may be repeated.", &run->sets},
        {"stores", 0, OPTION_TEXT, "DIR",
         "Keys of spec.stores: DIR/ACCOUNT/azurestorageaccountkey or azurestorageaccountsastoken; "
         "of spec.buckets: DIR/s3-BUCKET/AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
         "(WINDLASS_STORES_FOLDER).",
         &run->stores},
        {"secrets", 0, OPTION_TEXT, "DIR", texts.secrets, &run->secrets},
        {"workers", 'w', OPTION_INTEGER, "N", texts.workers, &run->workers},
        {"gpus", 0, OPTION_INTEGER, "N",
         "GPUs for each worker; workers share them where this machine has too few "
         "(default: spec.workers.gpus; 0 where this machine has none).",
         &run->gpus},
        {"state", 0, OPTION_TEXT, "DIR",
         "Folder for logs, emptyDir and temporary files (default: "
         "~/.local/state/windlass/NAME-TIME).",
         &run->state},
        {"restart", 0, OPTION_FLAG, NULL,
         "Start from the beginning, whatever earlier runs of this job have done.", &run->restart},
        {"anew", 0, OPTION_FLAG, NULL, NULL, &restarts_by_old_name}, /* hidden */
        {"only", 0, OPTION_TEXT, "NAME", NULL, &run->only}, /* hidden: jobs/change.c gives it */
        {"once", 0, OPTION_FLAG, NULL,
         "Make one run now and ignore trigger, schedule and rerun; its output is in "
         "OUTPUT/runs/TIME-RUN.",
         &run->once},
        {"keep", 0, OPTION_FLAG, NULL, "Keep the working folders of the processes.", &run->keep},
        {"dry-run", 0, OPTION_FLAG, NULL,
         "Check the manifest, the folders and the keys, say what would run, and run nothing.",
         &run->dry_run},
        {0},
    };
    struct option_list words = {0};
    run->workers = run->gpus = KIND_UNSET;
    int result = options_read(argc, argv, &help, options, &words, err);
    if (result != 0) {
        return result;
    }
    if (restarts_by_old_name) {
        fprintf(stderr, "windlass: --anew is deprecated and will be removed in the next release; "
                        "use --restart\n");
        run->restart = true;
    }
    if (run->files.count == 0) {
        return error_set(err, ERROR_INVALID, "-f FILE is missing: give a manifest (--help)");
    }
    if (run->workers != KIND_UNSET && (run->workers < 1 || run->workers > WORKERS_MAX)) {
        return error_set(err, ERROR_INVALID, "--workers %lld: expected 1 to %d",
                         (long long)run->workers, WORKERS_MAX);
    }
    if (run->gpus != KIND_UNSET && (run->gpus < 0 || run->gpus > KIND_GPUS_OF_WORKER_MAX)) {
        return error_set(err, ERROR_INVALID, "--gpus %lld: expected 0 to %d", (long long)run->gpus,
                         KIND_GPUS_OF_WORKER_MAX);
    }
    return 0;
}

static void add(json_t *list, const char *option, const char *value) {
    if (value) {
        json_array_append_new(list, json_string(option));
        json_array_append_new(list, json_string(value));
    }
}

static void add_number(json_t *list, const char *option, int64_t value) {
    if (value != KIND_UNSET) {
        AUTO(text_freep) char *text = x_printf("%lld", (long long)value);
        add(list, option, text);
    }
}

/* word: NAME=VALUE of --set, which was checked. */
static bool is_of(const json_t *parameters, const char *word) {
    AUTO(text_freep) char *name = x_strndup(word, strcspn(word, "="));
    return tree_find(parameters, "name", name) != NULL;
}

json_t *run_options_again(const struct run_options *options, const json_t *parameters) {
    json_t *list = json_array();
    for (size_t i = 0; i < options->volumes.count; i++) {
        add(list, "--volume", options->volumes.values[i]);
    }
    for (size_t i = 0; i < options->sets.count; i++) {
        if (is_of(parameters, options->sets.values[i])) {
            add(list, "--set", options->sets.values[i]);
        }
    }
    add(list, "--stores", options->stores);
    add(list, "--secrets", options->secrets);
    add_number(list, "--workers", options->workers);
    add_number(list, "--gpus", options->gpus);
    if (options->once) {
        json_array_append_new(list, json_string("--once"));
    }
    return list;
}
