// SPDX-License-Identifier: Apache-2.0
#include "operator/control/gone.h"

#include "operator/resource_key.h"

#include <stdlib.h>

struct gone {
    json_t *objects; /* key -> {"requests", "uids": {uid: true}} */
};

struct gone *gone_new(void) {
    struct gone *gone = x_calloc(1, sizeof *gone);
    gone->objects = json_object();
    return gone;
}

void gone_free(struct gone *gone) {
    if (gone) {
        json_decref(gone->objects);
        free(gone);
    }
}

static void set_requests(json_t *row, int64_t count) {
    json_object_set_new(row, "requests", json_integer(count));
}

void gone_begin(struct gone *gone, const json_t *object) {
    AUTO(text_freep) char *key = resource_key_of_object(object);
    json_t *row = json_object_get(gone->objects, key);
    if (!row) {
        row = json_pack("{s:{}}", "uids");
        json_object_set_new(gone->objects, key, row);
    }
    set_requests(row, tree_integer(row, "requests", 0) + 1);
}

void gone_note(struct gone *gone, const json_t *object) {
    AUTO(text_freep) char *key = resource_key_of_object(object);
    json_t *row = json_object_get(gone->objects, key);
    if (row) {
        json_object_set_new(json_object_get(row, "uids"), tree_text(object, "metadata.uid", ""),
                            json_true());
    }
}

bool gone_end(struct gone *gone, const json_t *object, const json_t *answer) {
    AUTO(text_freep) char *key = resource_key_of_object(object);
    json_t *row = json_object_get(gone->objects, key);
    int64_t left = tree_integer(row, "requests", 1) - 1;
    bool is_gone = json_object_get(json_object_get(row, "uids"),
                                   tree_text(answer, "metadata.uid", "")) != NULL;
    if (left > 0) {
        set_requests(row, left);
    } else {
        json_object_del(gone->objects, key);
    }
    return answer && is_gone;
}
