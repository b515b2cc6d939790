// SPDX-License-Identifier: Apache-2.0
/* asking_garbage.h: the garbage collector of a cluster, for test_asking.c: what has an owner that
 * is gone is deleted. */
#pragma once

#include "tests/unit/operator/asking_world.h"

static bool has_uid(const char *plural, const char *uid) {
    const char *name;
    json_t *object;
    json_object_foreach(api_double_all(api, plural), name, object) {
        if (strcmp(tree_text(object, "metadata.uid", ""), uid) == 0) {
            return true;
        }
    }
    return false;
}

static void collect(const char *plural) {
    const char *name;
    json_t *object;
    void *next;
    json_object_foreach_safe(api_double_all(api, plural), next, name, object) {
        const char *owner = tree_text(object, "metadata.ownerReferences[0].uid", NULL);
        if (owner && !has_uid("batchscores", owner) && !has_uid("services", owner)) {
            api_double_delete(api, plural, name);
        }
    }
}

/* As the cluster's garbage collector: what was made for jobs whose deletion could not be seen. */
static void collect_garbage(void) {
    collect("services");
    collect("secrets");
    collect("pods");
}
