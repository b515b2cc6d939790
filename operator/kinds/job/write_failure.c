// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/write_failure.h"

#include <string.h>

const struct write_failure *write_failure_find(const struct write_failures *list,
                                               struct object_key object, bool is_change) {
    for (size_t i = 0; list && i < list->count; i++) {
        const struct write_failure *failure = &list->at[i];
        if (!failure->is_deletion && failure->is_change == is_change &&
            object_key_same_part(failure->object, object)) {
            return failure;
        }
    }
    return NULL;
}

const struct write_failure *write_failure_find_deletion(const struct write_failures *list,
                                                        struct object_key object) {
    for (size_t i = 0; list && i < list->count; i++) {
        if (list->at[i].is_deletion && object_key_equal(list->at[i].object, object)) {
            return &list->at[i];
        }
    }
    return NULL;
}

const char *write_failure_denied_reason(const struct write_failure *failure) {
    return strstr(failure->text, "exceeded quota") ? "QuotaExceeded" : "Denied";
}
