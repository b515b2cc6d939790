// SPDX-License-Identifier: Apache-2.0
/* Any job of another system -> a manifest. The output is always YAML of one object: any error in it
 * is about a field. */
#include "operator/kinds/import/import_forms.h"
#include "operator/resource.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    AUTO(tree_freep) json_t *job = NULL;
    AUTO(tree_freep) json_t *documents = json_array();
    AUTO(tree_freep) json_t *object = NULL;
    AUTO(text_freep) char *text = NULL;
    if (tree_parse((const char *)data, size, 1 << 20, &job, &err) < 0 || !json_is_object(job)) {
        return 0;
    }
    json_array_append(documents, job);
    if (import_documents(documents, "job", "job", &text, &err) < 0) {
        return 0;
    }
    if (resource_parse("job.yaml", text, strlen(text), &object, &err) < 0 &&
        (err.kind != ERROR_INVALID ||
         !(strstr(err.text, ": spec") || strstr(err.text, ": metadata")))) {
        abort();
    }
    return 0;
}
