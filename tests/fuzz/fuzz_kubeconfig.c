// SPDX-License-Identifier: Apache-2.0
/* A kubeconfig's text, twice (as two files), and the output of a plug-in. */
#include "operator/kube/credential.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    AUTO(text_freep) char *text = x_strndup((const char *)data, size);
    AUTO(tree_freep) json_t *merged = json_object();
    AUTO(config_freep) struct config *config = NULL;
    if (config_merge(merged, "fuzz", text, "/none", &err) == 0 &&
        config_merge(merged, "fuzz", text, "/none/again", &err) == 0 &&
        config_choose(merged, "fuzz", NULL, &config, &err) == 0) {
        if (!config->server || !config->namespace ||
            !config->client_certificate_pem != !config->client_key_pem) {
            abort();
        }
        AUTO(text_freep) char *info = config->exec ? kube_credential_exec_info(config) : NULL;
    }
    struct error said_err = {0};
    AUTO(tree_freep) json_t *exec = json_pack("{s:s}", "apiVersion", "v1");
    AUTO(kube_credential_reply_release) struct kube_credential_reply said = {0};
    if (kube_credential_read(exec, text, strlen(text), &said, &said_err) == 0 && !said.token &&
        !said.certificate_pem) {
        abort();
    }
    return 0;
}
