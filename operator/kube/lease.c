// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/lease.h"

#include "lib/digest.h"
#include "lib/time/clock.h"
#include "operator/kube/rest.h"

#include <stdlib.h>
#include <unistd.h>

enum { REQUEST_MS = 3000 }; /* so that a leader has two tries before it must step down */

struct lease {
    struct election election;
    struct client *client;
    struct loop *loop;
    char *namespace, *name, *identity;
    char *collection_path, *path;
    void (*changed)(void *context, enum lease_state state);
    void *context;
    enum lease_state told;
    struct client_call *call;
    struct loop_timer timer;
    int64_t sent_ms;
    bool is_leaving;
    struct error trouble;
};

enum lease_state lease_state(const struct lease *lease) {
    const struct election *election = &lease->election;
    return election->is_lost ? LEASE_LOST : election->is_held ? LEASE_HELD : LEASE_STANDBY;
}

const char *lease_holder(const struct lease *lease) {
    return tree_text(lease->election.seen, "spec.holderIdentity", "");
}

const struct error *lease_trouble(const struct lease *lease) {
    return lease->trouble.kind ? &lease->trouble : NULL;
}

static void go_on(void *context);

static void note_trouble(struct lease *lease, const struct client_answer *answer) {
    bool is_expected =
        answer->err && (answer->err->kind == ERROR_CONFLICT || answer->status == 404);
    error_clear(&lease->trouble);
    if (answer->err && !is_expected) {
        lease->trouble = *answer->err;
    }
}

static void on_read(void *context, const struct client_answer *answer) {
    struct lease *lease = context;
    lease->call = NULL;
    note_trouble(lease, answer);
    if (!answer->err || answer->status == 404) {
        election_read(&lease->election, answer->err ? NULL : answer->tree, clock_monotonic_ms());
    }
    go_on(lease);
}

static void on_stored(void *context, const struct client_answer *answer) {
    struct lease *lease = context;
    lease->call = NULL;
    note_trouble(lease, answer);
    if (answer->err) {
        election_failed(&lease->election);
    } else {
        election_stored(&lease->election, answer->tree, lease->sent_ms);
    }
    go_on(lease);
}

static void ask(struct lease *lease, enum election_act act) {
    struct client_request request = {.verb = act == ELECTION_READ     ? "get"
                                             : act == ELECTION_CREATE ? "create"
                                                                      : "update",
                                     .method = act == ELECTION_READ     ? "GET"
                                               : act == ELECTION_CREATE ? "POST"
                                                                        : "PUT",
                                     .path = act == ELECTION_CREATE ? lease->collection_path
                                                                    : lease->path,
                                     .timeout_ms = REQUEST_MS,
                                     .done = act == ELECTION_READ ? on_read : on_stored,
                                     .context = lease};
    if (act != ELECTION_READ) {
        AUTO(tree_freep)
        json_t *claim = election_claim(&lease->election, lease->namespace, lease->name,
                                       lease->is_leaving, clock_wall_ms());
        request.body_new = json_dumps(claim, JSON_COMPACT);
    }
    lease->sent_ms = lease->election.acted_ms = clock_monotonic_ms();
    lease->call = client_start(lease->client, &request);
}

static void tell(struct lease *lease) {
    enum lease_state state = lease_state(lease);
    if (state != lease->told) {
        lease->told = state;
        if (lease->changed) {
            lease->changed(lease->context, state);
        }
    }
}

/* Runs also during a request, because a leader must step down in time, with or without an answer.
 */
static void go_on(void *context) {
    struct lease *lease = context;
    if (lease->is_leaving) {
        return;
    }
    int64_t now_ms = clock_monotonic_ms(), due_ms = now_ms;
    enum election_act act = election_next(&lease->election, now_ms, &due_ms);
    if (act == ELECTION_STEP_DOWN) {
        if (lease->call) {
            client_cancel(lease->client, lease->call);
            lease->call = NULL;
        }
    } else if (lease->call || act == ELECTION_WAIT) {
        int64_t give_up_ms = lease->election.renewed_ms + ELECTION_GIVE_UP_MS;
        due_ms = lease->call ? (lease->election.is_held ? give_up_ms : INT64_MAX) : due_ms;
        if (due_ms < INT64_MAX) {
            loop_set(lease->loop, &lease->timer, MAX(due_ms - now_ms, 1));
        }
    } else {
        ask(lease, act);
        if (lease->election.is_held) {
            loop_set(lease->loop, &lease->timer,
                     lease->election.renewed_ms + ELECTION_GIVE_UP_MS - now_ms);
        }
    }
    tell(lease);
}

int lease_open(const struct lease_options *options, struct client *client, struct loop *loop,
               struct lease **ret_lease, struct error *err) {
    struct lease *lease = x_calloc(1, sizeof *lease);
    struct rest_place place = {
        .api_version = "coordination.k8s.io/v1", .kind = "Lease", .namespace = options->namespace};
    lease->client = client;
    lease->loop = loop;
    lease->namespace = x_strdup(options->namespace);
    lease->name = x_strdup(options->name);
    lease->changed = options->changed;
    lease->context = options->context;
    if (options->identity) {
        lease->identity = x_strdup(options->identity);
    } else {
        char host[65] = "";
        gethostname(host, sizeof host - 1);
        AUTO(text_freep) char *chance = digest_random(4);
        lease->identity = x_printf("%s_%s", host, chance);
    }
    election_init(&lease->election, lease->identity);
    int result = rest_path(&place, &lease->collection_path, err);
    place.name = options->name;
    if (result < 0 || rest_path(&place, &lease->path, err) < 0) {
        lease_free(lease);
        return error_context(err, "lease");
    }
    lease->timer.fire = go_on;
    lease->timer.context = lease;
    loop_set(loop, &lease->timer, 0);
    *ret_lease = lease;
    return 0;
}

void lease_free(struct lease *lease) {
    if (!lease) {
        return;
    }
    loop_unset(lease->loop, &lease->timer);
    if (lease->call) {
        client_cancel(lease->client, lease->call);
    }
    election_release(&lease->election);
    free(lease->namespace);
    free(lease->name);
    free(lease->identity);
    free(lease->collection_path);
    free(lease->path);
    free(lease);
}

void lease_give_back(struct lease *lease, int timeout_ms) {
    int64_t end_ms = clock_monotonic_ms() + timeout_ms, now_ms;
    struct error ignored = {0};
    lease->is_leaving = true;
    loop_unset(lease->loop, &lease->timer);
    /* A renewal under way would make our version stale. */
    while (lease->call && (now_ms = clock_monotonic_ms()) < end_ms &&
           loop_wait(lease->loop, (int)(end_ms - now_ms), &ignored) >= 0) {
    }
    if (lease->call || lease_state(lease) != LEASE_HELD || !lease->election.is_known) {
        return;
    }
    ask(lease, ELECTION_UPDATE);
    while (lease->call && (now_ms = clock_monotonic_ms()) < end_ms &&
           loop_wait(lease->loop, (int)(end_ms - now_ms), &ignored) >= 0) {
    }
}
