// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/endpoint/requests_manifest.h"

#include <stdlib.h>
#include <string.h>

/* As a text of YAML in quotes: JSON's are. */
static char *quoted(const char *text) {
    AUTO(tree_freep) json_t *string = json_string(text);
    return json_dumps(string, JSON_ENCODE_ANY);
}

int requests_manifest(const struct kind_batch *batch, char **ret_text, struct error *err) {
    AUTO(text_freep) char *input_path = x_printf("work/%s", batch->file);
    AUTO(text_freep) char *output_path = x_printf("work/%s", batch->output);
    AUTO(text_freep) char *input = quoted(input_path);
    AUTO(text_freep) char *output = quoted(output_path);
    AUTO(text_freep) char *url = quoted(batch->url);
    if (!input || !output || !url) {
        return error_set(err, ERROR_INVALID, "the file's name or the address is not UTF-8");
    }
    AUTO(text_freep)
    char *key = batch->secret ? x_printf("\n      key: {secretName: %s, key: %s}", batch->secret,
                                         batch->secret_key)
                              : x_strdup("");
    *ret_text = x_printf(
        "# Sends each line of a batch file to a model server. `windlass run -f` of this file does\n"
        "# the same again; on a cluster, the claim \"work\" must hold the file.\n"
        "apiVersion: windlass.dev/v1beta1\n"
        "kind: BatchScore\n"
        "metadata: {name: %s}\n"
        "spec:\n"
        "  input:\n"
        "    table: {path: %s, format: JSONLines}\n"
        "  scorer:\n"
        "    endpoint:\n"
        "      url: %s\n"
        "      concurrency: %s%s\n"
        "  output: {path: %s}\n"
        "  errorThreshold: -1 # failed requests are in errors.jsonl\n"
        "  workers: {min: 1, max: 1}\n"
        "  volumes:\n"
        "    - {name: work, persistentVolumeClaim: {claimName: work}}\n",
        batch->name, input, url, batch->concurrency ? batch->concurrency : "Auto", key, output);
    return 0;
}
