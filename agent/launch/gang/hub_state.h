/* hub_state.h: the state of a hub, shared by hub.c (its thread, connections, status) and
 * hub_messages.c (what members report). Private to these two. */
#pragma once

#include "agent/launch/gang/gang_message.h"
#include "agent/launch/gang/hub.h"
#include "agent/launch/gang/latest_metrics.h"
#include "agent/launch/gang/link.h"
#include "agent/launch/gang/objective.h"
#include "agent/launch/proof/checkpoint_search.h"
#include "agent/launch/proof/result_check.h"
#include "lib/net/server.h"

#include <pthread.h>
#include <stdatomic.h>

struct hub_member {
    struct hub *hub;
    struct server_peer *peer; /* NULL: not connected */
    struct link *link;
    char incarnation[GANG_INCARNATION_MAX], pod[254];
    struct gang_table_row row;
};

enum { HUB_LINE_MAX = 161 /* bytes of what the pod of index 0 has printed last */ };

struct hub {
    struct hub_options options;
    struct server *server;
    struct gang *gang;
    struct hub_member *members;
    char name[33]; /* identifies this process in every attempt */
    char pod[254];
    char address[46];
    pthread_t thread;
    pthread_mutex_t lock; /* guards `progress` and last_line */
    char *progress;
    char last_line[HUB_LINE_MAX];
    char waits[GANG_MESSAGE_DETAIL_MAX + 1]; /* what keeps rank 0 from storing its result; or "" */
    bool has_run;                            /* a round was started */
    bool is_finished;
    int code;
    int64_t acknowledged_ms;
    atomic_bool has_stepped_down, is_leaving;
    atomic_llong looped_ms;
    struct latest_metrics latest;
    /* The reports of rank 0, and those in the command's output, which with Open MPI repeats
     * them. */
    struct objective objective, command_objective;
    /* Under MPI: the first rank that failed recently, and the round whose command has failed. */
    struct gang_message rank_exit;
    int rank_exit_index;
    int64_t rank_exit_ms, failed_round;
    /* Of a gang that has succeeded. */
    char *result_path, *run; /* of a training; NULL: of a command */
    struct result_origin *origin;
    struct result_check *check; /* NULL: none runs */
    int64_t check_round;
    struct checkpoint_search *look; /* of a training; NULL: none runs */
    int64_t look_round;
    struct result_check_end stored; /* what the check found; finished.count 0: no training */
};

/* ---- hub_messages.c -------------------------------------------------------------------------- */

/* The name of a member's pod; "": it has never connected. Member 0's is this pod's. */
const char *hub_pod_of(const struct hub *hub, int index);
extern const char hub_out_of_memory[]; /* a sentence */
/* A message of a member, but HELLO. */
void hub_handle_message(struct hub *hub, struct hub_member *member,
                        const struct gang_message *message);
