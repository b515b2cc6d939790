// SPDX-License-Identifier: Apache-2.0
/* Writes the manifest that a kind makes of a batch file, and runs it: `windlass run` does the
 * work. */
#include "operator/commands/batch/batch.h"

#include "operator/commands/batch/batch_manifest.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/run/run_text.h"

#include <stdio.h>
#include <stdlib.h>

struct request {
    struct batch_manifest of;
    const char *secrets, *state;
    bool prints, restarts;
};

static int run_it(const struct request *request, const char *manifest, const char *folder,
                  int *ret_code, struct error *err) {
    AUTO(text_freep) char *volume = x_printf("work=%s", folder);
    const struct run_text text = {.manifest = manifest,
                                  .options = {{"--volume", volume},
                                              {"--secrets", request->secrets},
                                              {"--state", request->state}},
                                  .restarts = request->restarts};
    return run_text_run(&text, ret_code, err);
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    const struct request *request = context;
    AUTO(text_freep) char *text = NULL;
    AUTO(text_freep) char *folder = NULL;
    if (!request->of.url) {
        return error_set(err, ERROR_INVALID, "--url says where the model server is");
    }
    if (batch_manifest_make(&request->of, words->values[0], &text, &folder, err) < 0) {
        return -1;
    }
    if (request->prints) {
        return fputs(text, stdout) < 0 || fflush(stdout) != 0
                   ? error_set(err, ERROR_UNAVAILABLE, "cannot write the manifest: %m")
                   : 0;
    }
    return run_it(request, text, folder, ret_code, err);
}

int batch_command(int argc, char **argv) {
    struct request request = {0};
    if (!batch_manifest_is_possible()) {
        fprintf(stderr, "windlass batch: no kind of this build takes batch files\n");
        return 2;
    }
    const struct command_help help = {
        .usage = "windlass batch FILE.jsonl --url URL [options]",
        .about = "Sends each request of a batch file in OpenAI's form to a model server, on this\n"
                 "machine. The answers are in FILE-answers/output.jsonl beside the file, in its\n"
                 "order, and failed requests in errors.jsonl. Run again, it continues.",
        .examples = "windlass batch requests.jsonl --url http://127.0.0.1:8000\n"
                    "windlass batch requests.jsonl --url http://llm:8000/v1 --print > job.yaml",
        .words_min = 1,
        .words_max = 1,
    };
    const struct option options[] = {
        {"url", 0, OPTION_TEXT, "URL", "Where the model server is.", &request.of.url},
        {"output", 0, OPTION_TEXT, "DIR", "The folder of the answers, beside the file.",
         &request.of.output},
        {"name", 0, OPTION_TEXT, "NAME", "The job's name (default: the file's).", &request.of.name},
        {"concurrency", 0, OPTION_TEXT, "N", "Requests in flight (default: Auto).",
         &request.of.concurrency},
        {"key", 0, OPTION_TEXT, "SECRET/KEY", "An API key: the file DIR/SECRET/KEY of --secrets.",
         &request.of.key},
        {"secrets", 0, OPTION_TEXT, "DIR", "As in windlass run.", &request.secrets},
        {"state", 0, OPTION_TEXT, "DIR", "As in windlass run.", &request.state},
        {"restart", 0, OPTION_FLAG, NULL, "Ask for everything again.", &request.restarts},
        {"print", 0, OPTION_FLAG, NULL, "Print the manifest, and run nothing.", &request.prints},
        {0},
    };
    const struct cli_command command = {
        .name = "batch", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
