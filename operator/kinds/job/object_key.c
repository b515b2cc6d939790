// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/object_key.h"

#include <stdlib.h>
#include <string.h>

struct object_key object_key_of(const json_t *object) {
    return (struct object_key){tree_text(object, "kind", ""),
                               tree_text(object, "metadata.name", "")};
}

struct object_key object_key_copy(struct object_key key) {
    return (struct object_key){x_strdup(key.kind), x_strdup(key.name)};
}

void object_key_release(struct object_key *key) {
    free((char *)key->kind);
    free((char *)key->name);
    *key = (struct object_key){0};
}

bool object_key_equal(struct object_key a, struct object_key b) {
    return strcmp(a.name, b.name) == 0 && strcmp(a.kind, b.kind) == 0;
}

bool object_key_same_part(struct object_key a, struct object_key b) {
    bool is_secret = strcmp(a.kind, "Secret") == 0;
    return is_secret ? strcmp(b.kind, "Secret") == 0 : object_key_equal(a, b);
}

char *object_key_format(struct object_key key) {
    return x_printf("%s %s", key.kind, key.name);
}
