// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/proof/checkpoint_search.h"

#include "agent/launch/proof/proof_thread.h"
#include "agent/store/checkpoint_name.h"
#include "lib/log.h"

#include <stdlib.h>

struct checkpoint_search {
    struct proof_thread thread;
    char *path, *prefix;
    int64_t step;
};

static void release(struct proof_thread *self) {
    struct checkpoint_search *look = (struct checkpoint_search *)self;
    free(look->path);
    free(look->prefix);
    free(look);
}

/* An output that does not exist yet has none. */
static int64_t find(const struct checkpoint_search *look) {
    AUTO(store_freep) struct store *store = NULL;
    struct error err = {0};
    int64_t step = 0;
    if (store_open(look->path, /* writes= */ false, &store, &err) == 0 &&
        checkpoint_name_highest_step(store, look->prefix, &step, &err) == 0) {
        return step;
    }
    if (err.kind == ERROR_NOT_FOUND) {
        return 0;
    }
    log_event(LOG_WARNING, "cannot list the stored checkpoints: %s", err.text);
    return -1;
}

static void run_search(struct proof_thread *self) {
    struct checkpoint_search *look = (struct checkpoint_search *)self;
    look->step = find(look);
}

struct checkpoint_search *checkpoint_search_start(const char *path, const char *run_name) {
    struct checkpoint_search *look = x_calloc(1, sizeof *look);
    look->path = x_strdup(path);
    look->prefix = x_printf(".windlass/%s/", run_name);
    look->step = -1;
    if (!proof_thread_start(&look->thread, run_search, release)) {
        log_event(LOG_WARNING, "cannot list the stored checkpoints: no thread can be started");
    }
    return look;
}

bool checkpoint_search_poll(struct checkpoint_search *look, int64_t *ret_step) {
    if (!proof_thread_is_done(&look->thread)) {
        return false;
    }
    *ret_step = look->step;
    return true;
}

void checkpoint_search_free(struct checkpoint_search *look) {
    if (look) {
        proof_thread_leave(&look->thread);
    }
}
