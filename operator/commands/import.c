// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/import.h"

#include "operator/commands/batch/batch_manifest.h"
#include "operator/commands/cli_command.h"
#include "operator/kinds/import/import_forms.h"
#include "operator/manifest.h"
#include "operator/resource.h"

#include <stdio.h>
#include <string.h>

/* The file's documents; JSON is YAML. Owned. */
static int read_documents(const char *path, json_t **ret_documents, struct error *err) {
    AUTO(manifest_freep) struct manifest *file = NULL;
    if (manifest_load(path, &file, err) < 0) {
        return -1;
    }
    json_t *all = json_array();
    for (size_t i = 0; i < file->count; i++) {
        json_array_append(all, file->documents[i].tree);
    }
    *ret_documents = all;
    return 0;
}

/* Requests do not say where they go. */
static const char batch_note[] =
    "# Made of a batch file in OpenAI's form. What is left to do:\n"
    "#   spec.scorer.endpoint.url: where the model server is (or urls, or server: one for each "
    "worker)\n"
    "#   spec.scorer.endpoint.key: the Secret of its API key, if it wants one\n";

static int import_batch(const char *name, const char *path, char **ret_text, struct error *err) {
    const struct batch_manifest batch = {.url = "http://NAME-THE-SERVER", .name = name};
    AUTO(text_freep) char *made = NULL;
    if (batch_manifest_make(&batch, path, &made, NULL, err) < 0) {
        return -1;
    }
    *ret_text = x_printf("%s%s", batch_note, made);
    return 0;
}

static int import_job(const char *name, const char *path, char **ret_text, struct error *err) {
    AUTO(text_freep) char *standard = cli_command_job_name(path);
    AUTO(tree_freep) json_t *documents = NULL;
    AUTO(tree_freep) json_t *object = NULL;
    if (read_documents(path, &documents, err) < 0) {
        return -1;
    }
    /* The result must be a manifest that a cluster accepts. */
    return import_documents(documents, name, standard, ret_text, err) < 0 ||
                   resource_parse("the manifest of it", *ret_text, strlen(*ret_text), &object,
                                  err) < 0
               ? error_context(err, "%s", path)
               : 0;
}

static int import(const char *name, const char *path, struct error *err) {
    AUTO(text_freep) char *text = NULL;
    bool is_batch = batch_manifest_is_possible() && batch_manifest_is_of(path);
    if ((is_batch ? import_batch : import_job)(name, path, &text, err) < 0) {
        return -1;
    }
    if (fputs(text, stdout) < 0 || fflush(stdout) != 0) {
        return error_set(err, ERROR_UNAVAILABLE, "cannot write the manifest: %m");
    }
    return 0;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    const char *const *name = context;
    (void)ret_code;
    int result = import(*name, words->values[0], err);
    if (result < 0 && err->kind == ERROR_NOT_FOUND) {
        err->kind = ERROR_INVALID; /* a wrong argument: exit code 2 */
    }
    return result;
}

int import_command(int argc, char **argv) {
    const char *name = NULL;
    const struct command_help help = {
        .usage = "windlass import FILE [--name NAME]",
        .about =
            "Makes a manifest of a job of another system, on standard output. FILE is YAML or\n"
            "JSON, - is standard input:\n"
            "  Kubeflow          MPIJob (v1, v2beta1), PyTorchJob, TrainJob\n"
            "  Katib             Experiment\n"
            "  Ray               RayJob\n"
            "  Kubernetes        Job with completionMode: Indexed\n"
            "  Azure ML          parallel step of a pipeline, batch deployment, ParallelRunConfig\n"
            "  Azure Batch AI    job.json\n"
            "  OpenAI            batch file of requests (JSON Lines), not from standard input\n"
            "Comments in it say what is left to do and what has no counterpart. Values of\n"
            "Secrets are not copied; the comments say which to create. Variables are, so look for\n"
            "keys and passwords in them.",
        .examples = "windlass import mpijob.yaml > job.yaml && windlass check -f job.yaml\n"
                    "windlass import job.json --name cifar > cifar.yaml",
        .words_min = 1,
        .words_max = 1,
    };
    const struct option options[] = {
        {"name", 0, OPTION_TEXT, "NAME", "The job's name (default: its own, or the file's).",
         &name},
        {0},
    };
    const struct cli_command command = {
        .name = "import", .help = &help, .options = options, .run = run, .context = &name};
    return cli_command_run(&command, argc, argv);
}
