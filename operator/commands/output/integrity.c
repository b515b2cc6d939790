// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/output/integrity.h"

#include "lib/file.h"
#include "operator/commands/cli_command.h"
#include "operator/local/local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct request {
    const char *key, *format, *stores;
    bool allows_extra;
};

static int run(void *context, const struct option_list *words, int *ret_code UNUSED,
               struct error *err) {
    const struct request *request = context;
    AUTO(text_freep) char *folder = NULL;
    const char *arguments[10] = {"windlass-agent", "verify"};
    size_t count = 2;
    if (local_find_programs(&folder, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *agent = file_join(folder, "windlass-agent");
    if (request->key) {
        arguments[count++] = "--key";
        arguments[count++] = request->key;
    }
    if (request->format) {
        arguments[count++] = "-o";
        arguments[count++] = request->format;
    }
    if (request->allows_extra) {
        arguments[count++] = "--allow-extra";
    }
    arguments[count++] = "--";
    arguments[count++] = words->values[0];
    if (request->stores) {
        setenv("WINDLASS_STORES_FOLDER", request->stores, 1); /* agent/store/cloud/cloud_place.h */
    }
    execv(agent, (char **)arguments);
    return error_from_errno(err, errno, "cannot run %s", agent);
}

int integrity_command(int argc, char **argv) {
    struct request request = {0};
    static const struct command_help help = {
        .usage = "windlass verify OUTPUT [options]",
        .about =
            "Reads every file of an output again and compares it with the result.json beside it,\n"
            "which a job writes last, when it has succeeded. Says which files are missing, have\n"
            "changed, or do not belong to this run. OUTPUT is a folder of this machine,\n"
            "az://ACCOUNT/CONTAINER/path, s3://BUCKET/path or gs://BUCKET/path. With --key it\n"
            "also checks who has signed the result (spec.signingKey).\n\n"
            "Exit codes: 0 the output matches result.json, 1 it does not, 2 usage, or\n"
            "no result.json, 3 this machine or the storage, or files that may not be read,\n"
            "130 interrupted.",
        .examples = "  windlass verify data/painted\n"
                    "  windlass verify data/painted --key public.pem -o json\n"
                    "  windlass verify az://films/results/painted --stores secrets\n",
        .words_min = 1,
        .words_max = 1,
    };
    const struct option options[] = {
        {"key", 0, OPTION_TEXT, "FILE",
         "The public key, PEM: fails unless this key signed the result.", &request.key},
        {"allow-extra", 0, OPTION_FLAG, NULL, "Files that this run has not made may be there.",
         &request.allows_extra},
        {"output", 'o', OPTION_TEXT, "FORMAT", "json: the verdict as JSON.", &request.format},
        {"stores", 0, OPTION_TEXT, "DIR",
         "For az://, s3:// and gs://: the folder of the keys (WINDLASS_STORES_FOLDER).",
         &request.stores},
        {0},
    };
    struct cli_command command = {
        .name = "verify", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
