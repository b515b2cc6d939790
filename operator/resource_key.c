// SPDX-License-Identifier: Apache-2.0
#include "operator/resource_key.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

char *resource_key_format(const char *kind, const char *namespace, const char *name) {
    return x_printf("%s %s/%s", kind, namespace, name);
}

char *resource_key_of_object(const json_t *object) {
    return resource_key_format(tree_text(object, "kind", ""),
                               tree_text(object, "metadata.namespace", "default"),
                               tree_text(object, "metadata.name", ""));
}

struct resource_key resource_key_parse(const char *text) {
    struct resource_key key = {.text = x_strdup(text)};
    char *space = strchr(key.text, ' ');
    assert(space);
    char *slash = strchr(space, '/');
    assert(slash);
    *space = *slash = 0;
    key.kind = key.text;
    key.namespace = space + 1;
    key.name = slash + 1;
    return key;
}

void resource_key_release(struct resource_key *key) {
    free(key->text);
    *key = (struct resource_key){0};
}
