// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/proof/gang_proof.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_MAX = 4 /* ranks in a text */ };

enum rank_state { RANK_ABSENT, RANK_RUNS, RANK_DONE, RANK_FAILED };

struct rank_place {
    uint8_t state;
    int16_t index; /* of its pod */
};

struct launch {
    char name[GANG_LAUNCH_NAME_MAX];
    bool is_proxy, is_inconsistent;
    int size, room; /* room: of ranks */
    int running, done, failed;
    int64_t began, ended; /* the moment, counted in reports; ended: of the last end */
    struct rank_place *ranks;
    struct gang_proof_reason failure; /* of the first rank that failed */
};

struct exits {
    struct gang_exit *exits;
    size_t count;
    int launches;
};

struct gang_proof {
    struct launch launches[GANG_LAUNCHES_MAX]; /* incomplete ones, the oldest first */
    int count;
    int64_t ranks;     /* of all launches */
    int64_t moment;    /* the number of reports */
    bool is_overfull;  /* a launch did not fit */
    int largest_whole; /* size */
    int64_t whole_ranks, whole_proxies;
    struct exits ranks_ended, proxies_ended; /* of whole launches */
};

static const char *const by_names[] = {"Command", "Proxies", "Ranks", "Processes"};
static_assert(ARRAY_LEN(by_names) == GANG_PROOF_PROCESSES + 1, "a name for each");

const char *gang_proof_by_name(enum gang_proof_by by) {
    return by_names[by];
}

int gang_proof_by_named(const char *name) {
    for (int i = 0; i < (int)ARRAY_LEN(by_names); i++) {
        if (strcmp(by_names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

struct gang_proof *gang_proof_new(void) {
    return x_calloc(1, sizeof(struct gang_proof));
}

void gang_proof_free(struct gang_proof *proof) {
    for (int i = 0; proof && i < proof->count; i++) {
        free(proof->launches[i].ranks);
    }
    if (proof) {
        free(proof->ranks_ended.exits);
        free(proof->proxies_ended.exits);
    }
    free(proof);
}

/* ---- launches ------------------------------------------------------------------------------- */

static struct launch *find(struct gang_proof *proof, const char *name) {
    for (int i = 0; i < proof->count; i++) {
        if (strcmp(proof->launches[i].name, name) == 0) {
            return &proof->launches[i];
        }
    }
    return NULL;
}

static void drop(struct gang_proof *proof, int at) {
    proof->ranks -= proof->launches[at].room;
    free(proof->launches[at].ranks);
    proof->count--;
    memmove(&proof->launches[at], &proof->launches[at + 1],
            (size_t)(proof->count - at) * sizeof *proof->launches);
}

static bool has_failed(const struct launch *launch) {
    return launch->running == 0 && launch->failed > 0;
}

/* A newer failed launch needs what makes this one good, too, and more: so this one can go. */
static bool forget_a_failed_one(struct gang_proof *proof) {
    for (int i = 0; i < proof->count; i++) {
        for (int k = i + 1; has_failed(&proof->launches[i]) && k < proof->count; k++) {
            const struct launch *newer = &proof->launches[k];
            if (has_failed(newer) && newer->size >= proof->launches[i].size &&
                newer->ended >= proof->launches[i].ended) {
                drop(proof, i);
                return true;
            }
        }
    }
    return false;
}

static bool make_room(struct gang_proof *proof, struct launch *launch, int room) {
    if (room <= launch->room) {
        return true;
    }
    if (proof->ranks + room - launch->room > GANG_LAUNCH_RANKS_MAX) {
        return false;
    }
    launch->ranks = x_realloc_array(launch->ranks, (size_t)room, sizeof *launch->ranks);
    memset(launch->ranks + launch->room, 0, (size_t)(room - launch->room) * sizeof *launch->ranks);
    proof->ranks += room - launch->room;
    launch->room = room;
    return true;
}

/* NULL: there are too many. */
static struct launch *add(struct gang_proof *proof, const struct gang_rank_report *report) {
    while (proof->count == GANG_LAUNCHES_MAX ||
           proof->ranks + report->size > GANG_LAUNCH_RANKS_MAX) {
        if (!forget_a_failed_one(proof)) {
            return NULL;
        }
    }
    struct launch *launch = &proof->launches[proof->count++];
    *launch =
        (struct launch){.is_proxy = report->is_proxy, .size = report->size, .began = proof->moment};
    snprintf(launch->name, sizeof launch->name, "%s", report->launch);
    return launch;
}

static void keep_exits(struct exits *kept, const struct launch *launch) {
    int number = kept->launches++;
    if (kept->count + (size_t)launch->done > GANG_EXITS_MAX) {
        return;
    }
    kept->exits =
        x_realloc_array(kept->exits, kept->count + (size_t)launch->done + 1, sizeof *kept->exits);
    for (int i = 0; i < launch->room; i++) {
        if (launch->ranks[i].state == RANK_DONE) {
            kept->exits[kept->count++] =
                (struct gang_exit){.launch = number, .rank = i, .index = launch->ranks[i].index};
        }
    }
}

/* A whole launch is forgotten but for its exits, and so are those that it makes good. */
static void close_whole(struct gang_proof *proof, struct launch *launch) {
    int size = launch->size, at = (int)(launch - proof->launches);
    int64_t began = launch->began;
    proof->largest_whole = MAX(proof->largest_whole, launch->is_proxy ? 0 : launch->done);
    *(launch->is_proxy ? &proof->whole_proxies : &proof->whole_ranks) += launch->done;
    keep_exits(launch->is_proxy ? &proof->proxies_ended : &proof->ranks_ended, launch);
    drop(proof, at);
    for (int i = at - 1; i >= 0; i--) {
        const struct launch *older = &proof->launches[i];
        if (has_failed(older) && older->ended < began && older->size <= size) {
            drop(proof, i);
        }
    }
}

/* ---- reports -------------------------------------------------------------------------------- */

static void count(struct launch *launch, enum rank_state state, int by) {
    launch->running += state == RANK_RUNS ? by : 0;
    launch->done += state == RANK_DONE ? by : 0;
    launch->failed += state == RANK_FAILED ? by : 0;
}

static void set(struct launch *launch, int rank, enum rank_state state, int index) {
    struct rank_place *place = &launch->ranks[rank];
    count(launch, place->state, -1);
    *place = (struct rank_place){(uint8_t)state, (int16_t)index};
    count(launch, state, 1);
}

void gang_proof_started(struct gang_proof *proof, const struct gang_rank_report *report) {
    proof->moment++;
    struct launch *launch = find(proof, report->launch);
    launch = launch ? launch : add(proof, report);
    int room = launch ? MAX(launch->size, report->rank + 1) : 0;
    if (!launch || report->rank < 0 || !make_room(proof, launch, room)) {
        proof->is_overfull = true;
        return;
    }
    launch->is_inconsistent |=
        launch->size != report->size || (launch->size && report->rank >= launch->size);
    set(launch, report->rank, RANK_RUNS, report->index);
}

static void note_failure(struct launch *launch, const struct gang_rank_report *report) {
    struct gang_proof_reason *failure = &launch->failure;
    if (launch->failed > 0) {
        return; /* others end because of the first one */
    }
    *failure = (struct gang_proof_reason){report->index, report->rank, report->code, ""};
    snprintf(failure->detail, sizeof failure->detail, "%s%s%.200s",
             report->was_signalled ? "a signal asked it to end" : "",
             report->was_signalled && report->detail && *report->detail ? ": " : "",
             report->detail ? report->detail : "");
}

void gang_proof_ended(struct gang_proof *proof, const struct gang_rank_report *report) {
    struct launch *launch = find(proof, report->launch);
    proof->moment++;
    if (!launch || report->rank < 0 || report->rank >= launch->room ||
        launch->ranks[report->rank].state != RANK_RUNS) {
        return;
    }
    bool is_well = report->code == 0 && !report->was_signalled;
    if (!is_well) {
        note_failure(launch, report);
    }
    set(launch, report->rank, is_well ? RANK_DONE : RANK_FAILED, report->index);
    launch->ended = proof->moment;
    bool has_all =
        launch->size ? launch->done == launch->size : launch->running == 0 && launch->failed == 0;
    if (has_all && !launch->is_inconsistent) {
        close_whole(proof, launch);
    }
}

/* ---- the verdict ---------------------------------------------------------------------------- */

static const char wrong_size[] = "spec.command ended with 0, but the ranks of one mpirun do not "
                                 "agree how many they are";
static const char overfull[] = "spec.command ended with 0, but it started too many ranks, or too "
                               "many mpiruns at a time, to know that all have ended well";

static void describe_failure(const struct launch *launch, struct gang_proof_reason *reason) {
    const struct gang_proof_reason *failure = &launch->failure;
    *reason = *failure;
    snprintf(reason->detail, sizeof reason->detail,
             "%s%s%.280s (spec.command ended with 0 all the same; but %s counts: let it end with "
             "0, or start it without mpirun)",
             launch->is_proxy ? "the proxy of MPI" : "", launch->is_proxy ? ": " : "",
             *failure->detail ? failure->detail : "no last words",
             launch->is_proxy ? "each proxy" : "each rank's exit");
}

/* "rank 1 on worker 0, rank 3 (not started)" */
static void name_missing(const struct launch *launch, struct gang_proof_reason *reason, char *text,
                         size_t room) {
    int size = launch->size ? launch->size : launch->room, named = 0;
    size_t used = 0;
    for (int i = 0; i < size && i < launch->room && named <= NAMED_MAX && used < room; i++) {
        const struct rank_place *place = &launch->ranks[i];
        char where[32] = "(not started)";
        if (place->state == RANK_DONE) {
            continue;
        }
        if (place->state != RANK_ABSENT) {
            snprintf(where, sizeof where, "on worker %d", place->index);
        }
        if (named == 0) {
            reason->rank = i;
            reason->index = place->state != RANK_ABSENT ? place->index : 0;
        }
        used += named == NAMED_MAX ? (size_t)snprintf(text + used, room - used, ", ...")
                                   : (size_t)snprintf(text + used, room - used, "%srank %d %s",
                                                      named ? ", " : "", i, where);
        named++;
    }
}

static void describe_missing(const struct launch *launch, struct gang_proof_reason *reason) {
    char missing[200] = "";
    int size = launch->size ? launch->size : launch->running + launch->done;
    *reason = (struct gang_proof_reason){0, -1, -1, ""};
    name_missing(launch, reason, missing, sizeof missing);
    snprintf(reason->detail, sizeof reason->detail,
             "spec.command ended with 0, but %d of the %d %s of its mpirun did not report the end: "
             "%s",
             size - launch->done, size, launch->is_proxy ? "proxies" : "ranks", missing);
}

enum gang_proof_state gang_proof_find_state(const struct gang_proof *proof, int wanted,
                                            struct gang_proof_reason *reason) {
    *reason = (struct gang_proof_reason){0, -1, -1, ""};
    for (int i = 0; i < proof->count; i++) {
        if (proof->launches[i].failed > 0) {
            describe_failure(&proof->launches[i], reason);
            return GANG_PROOF_FAILED;
        }
    }
    for (int i = 0; i < proof->count; i++) {
        if (proof->launches[i].is_inconsistent) {
            snprintf(reason->detail, sizeof reason->detail, "%s", wrong_size);
            return GANG_PROOF_FAILED;
        }
    }
    if (proof->is_overfull) {
        snprintf(reason->detail, sizeof reason->detail, "%s", overfull);
        return GANG_PROOF_FAILED;
    }
    if (proof->count > 0) {
        describe_missing(&proof->launches[0], reason);
        return GANG_PROOF_OPEN;
    }
    if (proof->largest_whole < wanted) {
        snprintf(reason->detail, sizeof reason->detail,
                 "mpirun ended with 0, but of the %d ranks %d reported that they did", wanted,
                 proof->largest_whole);
        return GANG_PROOF_OPEN;
    }
    return GANG_PROOF_COMPLETE;
}

const struct gang_exit *gang_proof_exits(const struct gang_proof *proof, size_t *ret_count) {
    const struct exits *kept = proof->whole_ranks ? &proof->ranks_ended : &proof->proxies_ended;
    *ret_count = kept->count;
    return kept->exits;
}

enum gang_proof_by gang_proof_find_by(const struct gang_proof *proof, int64_t *ret_count) {
    *ret_count = proof->whole_ranks ? proof->whole_ranks : proof->whole_proxies;
    return proof->whole_ranks     ? GANG_PROOF_RANKS
           : proof->whole_proxies ? GANG_PROOF_PROXIES
                                  : GANG_PROOF_COMMAND;
}
