// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/elector.h"

#include "lib/digest.h"
#include "lib/time/clock.h"
#include "operator/kube/rest.h"

#include <stdlib.h>
#include <unistd.h>

enum { REQUEST_MS = 3000 }; /* so that a leader has two tries before it must step down */

struct elector {
    struct election election;
    struct client *client;
    struct loop *loop;
    char *namespace, *name, *identity;
    char *collection_path, *path;
    void (*changed)(void *context, enum elector_state state);
    void *context;
    enum elector_state reported;
    struct client_call *call;
    struct loop_timer timer;
    bool is_leaving;
    struct error trouble;
};

enum elector_state elector_read_state(const struct elector *elector) {
    const struct election *election = &elector->election;
    return election->is_lost ? ELECTOR_LOST : election->is_held ? ELECTOR_LEADER : ELECTOR_STANDBY;
}

const char *elector_holder(const struct elector *elector) {
    return tree_text(elector->election.seen, "spec.holderIdentity", "");
}

const struct error *elector_error(const struct elector *elector) {
    return elector->trouble.kind ? &elector->trouble : NULL;
}

static void go_on(void *context);

static void note_trouble(struct elector *elector, const struct client_answer *answer) {
    bool is_expected =
        answer->err && (answer->err->kind == ERROR_CONFLICT || answer->status == 404);
    error_clear(&elector->trouble);
    if (answer->err && !is_expected) {
        elector->trouble = *answer->err;
    }
}

static void on_read(void *context, const struct client_answer *answer) {
    struct elector *elector = context;
    elector->call = NULL;
    note_trouble(elector, answer);
    if (!answer->err || answer->status == 404) {
        election_read(&elector->election, answer->err ? NULL : answer->tree, clock_monotonic_ms());
    }
    go_on(elector);
}

static void on_stored(void *context, const struct client_answer *answer) {
    struct elector *elector = context;
    elector->call = NULL;
    note_trouble(elector, answer);
    if (answer->err) {
        election_failed(&elector->election);
    } else {
        election_stored(&elector->election, answer->tree);
    }
    go_on(elector);
}

static void ask(struct elector *elector, enum election_act act) {
    struct client_request request = {.verb = act == ELECTION_READ     ? "get"
                                             : act == ELECTION_CREATE ? "create"
                                                                      : "update",
                                     .method = act == ELECTION_READ     ? "GET"
                                               : act == ELECTION_CREATE ? "POST"
                                                                        : "PUT",
                                     .path = act == ELECTION_CREATE ? elector->collection_path
                                                                    : elector->path,
                                     .timeout_ms = REQUEST_MS,
                                     .done = act == ELECTION_READ ? on_read : on_stored,
                                     .context = elector};
    if (act != ELECTION_READ) {
        AUTO(tree_freep)
        json_t *claim = election_claim(&elector->election, elector->namespace, elector->name,
                                       elector->is_leaving, clock_wall_ms());
        request.body_new = json_dumps(claim, JSON_COMPACT);
    }
    elector->election.acted_ms = clock_monotonic_ms();
    elector->call = client_start(elector->client, &request);
}

static void report(struct elector *elector) {
    enum elector_state state = elector_read_state(elector);
    if (state != elector->reported) {
        elector->reported = state;
        if (elector->changed) {
            elector->changed(elector->context, state);
        }
    }
}

/* Runs also during a request, because a leader must step down in time, with or without an answer.
 */
static void go_on(void *context) {
    struct elector *elector = context;
    if (elector->is_leaving) {
        return;
    }
    int64_t now_ms = clock_monotonic_ms(), due_ms = now_ms;
    enum election_act act = election_next(&elector->election, now_ms, &due_ms);
    if (act == ELECTION_STEP_DOWN) {
        if (elector->call) {
            client_cancel(elector->client, elector->call);
            elector->call = NULL;
        }
    } else if (elector->call || act == ELECTION_WAIT) {
        int64_t give_up_ms = elector->election.renewed_ms + ELECTION_GIVE_UP_MS;
        due_ms = elector->call ? (elector->election.is_held ? give_up_ms : INT64_MAX) : due_ms;
        if (due_ms < INT64_MAX) {
            loop_set(elector->loop, &elector->timer, MAX(due_ms - now_ms, 1));
        }
    } else {
        ask(elector, act);
        if (elector->election.is_held) {
            loop_set(elector->loop, &elector->timer,
                     elector->election.renewed_ms + ELECTION_GIVE_UP_MS - now_ms);
        }
    }
    report(elector);
}

int elector_open(const struct elector_options *options, struct client *client, struct loop *loop,
                 struct elector **ret_elector, struct error *err) {
    struct elector *elector = x_calloc(1, sizeof *elector);
    struct rest_place place = {
        .api_version = "coordination.k8s.io/v1", .kind = "Lease", .namespace = options->namespace};
    elector->client = client;
    elector->loop = loop;
    elector->namespace = x_strdup(options->namespace);
    elector->name = x_strdup(options->name);
    elector->changed = options->changed;
    elector->context = options->context;
    if (options->identity) {
        elector->identity = x_strdup(options->identity);
    } else {
        char host[65] = "";
        gethostname(host, sizeof host - 1);
        AUTO(text_freep) char *chance = digest_random(4);
        elector->identity = x_printf("%s_%s", host, chance);
    }
    election_init(&elector->election, elector->identity);
    int result = rest_path(&place, &elector->collection_path, err);
    place.name = options->name;
    if (result < 0 || rest_path(&place, &elector->path, err) < 0) {
        elector_free(elector);
        return error_context(err, "lease");
    }
    elector->timer.fire = go_on;
    elector->timer.context = elector;
    loop_set(loop, &elector->timer, 0);
    *ret_elector = elector;
    return 0;
}

void elector_free(struct elector *elector) {
    if (!elector) {
        return;
    }
    loop_unset(elector->loop, &elector->timer);
    if (elector->call) {
        client_cancel(elector->client, elector->call);
    }
    election_release(&elector->election);
    free(elector->namespace);
    free(elector->name);
    free(elector->identity);
    free(elector->collection_path);
    free(elector->path);
    free(elector);
}

void elector_step_down(struct elector *elector, int timeout_ms) {
    int64_t end_ms = clock_monotonic_ms() + timeout_ms, now_ms;
    struct error ignored = {0};
    elector->is_leaving = true;
    loop_unset(elector->loop, &elector->timer);
    /* A renewal under way would make our version stale. */
    while (elector->call && (now_ms = clock_monotonic_ms()) < end_ms &&
           loop_wait(elector->loop, (int)(end_ms - now_ms), &ignored) >= 0) {
    }
    if (elector->call || elector_read_state(elector) != ELECTOR_LEADER ||
        !elector->election.is_known) {
        return;
    }
    ask(elector, ELECTION_UPDATE);
    while (elector->call && (now_ms = clock_monotonic_ms()) < end_ms &&
           loop_wait(elector->loop, (int)(end_ms - now_ms), &ignored) >= 0) {
    }
}
