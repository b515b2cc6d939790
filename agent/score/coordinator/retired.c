// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/retired.h"

#include "lib/log.h"

#include <string.h>

void retired_hello(json_t **slots, const struct message *hello) {
    *slots = *slots ? *slots : json_object();
    json_object_del(*slots, hello->name); /* it is back */
    if (hello->deaths > 0 && json_object_size(*slots) < RETIRED_MAX) {
        json_object_set_new(*slots, hello->name,
                            json_pack("{s:i, s:i, s:s, s:b}", "deaths", hello->deaths, "most",
                                      hello->deaths_max, "message", hello->text, "isGone", false));
    }
}

void retired_finish(json_t *slots, const char *worker) {
    json_object_del(slots, worker);
}

static bool is_full(const json_t *slot) {
    return tree_integer(slot, "deaths", 0) + 1 >= tree_integer(slot, "most", 0);
}

void retired_leave(json_t *slots, const char *worker, bool is_orderly) {
    json_t *slot = json_object_get(slots, worker);
    if (!slot || is_orderly) {
        return;
    }
    json_object_set_new(slot, "isGone", json_true());
    if (is_full(slot)) {
        log_event(LOG_WARNING,
                  "worker %s is lost, the last of %lld in its slot; the one before: %s", worker,
                  (long long)tree_integer(slot, "most", 0), tree_text(slot, "message", ""));
    }
}

json_t *retired_rows(const json_t *slots, const json_t *earlier) {
    json_t *rows = json_array();
    for (size_t i = 0; i < MIN(json_array_size(earlier), (size_t)RETIRED_MAX); i++) {
        json_array_append(rows, json_array_get(earlier, i));
    }
    const char *name;
    json_t *slot;
    json_object_foreach((json_t *)slots, name, slot) {
        if (tree_bool(slot, "isGone", false) && is_full(slot) && !tree_find(rows, "pod", name)) {
            json_array_append_new(rows, json_pack("{s:s, s:I, s:O}", "pod", name, "deaths",
                                                  (json_int_t)tree_integer(slot, "deaths", 0) + 1,
                                                  "message", json_object_get(slot, "message")));
        }
    }
    return rows;
}
