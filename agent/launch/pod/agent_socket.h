/* agent_socket.h: the unix socket by which programs in a pod ask the pod's agent for something:
 * start a command on another pod (rsh.h), answer a liveness probe, give a rank its variables, take
 * note of a rank's exit (rank.h) or of metrics (metric_socket.h). Only the agent's user may open
 * it. One thread; the agent's side never blocks. */
#pragma once

#include "lib/error.h"

#include <sys/types.h>

enum {
    AGENT_SOCKET_LINE_MAX = 256 << 10,   /* bytes of a request's text */
    AGENT_SOCKET_LAUNCH_MAX = 64,        /* bytes, NUL included */
    AGENT_SOCKET_ANSWER_MAX = 128 << 10, /* bytes; instead of a longer answer an error is sent */
    /* How long a client waits for an answer to ALIVE, to POSTED, and to other requests. START waits
     * until the program has ended, and REPORT until there is room: both without a limit. */
    AGENT_SOCKET_ALIVE_TIMEOUT_MS = 4000,
    AGENT_SOCKET_POSTED_TIMEOUT_MS = 5000,
    AGENT_SOCKET_TIMEOUT_MS = 60000,
};

enum agent_request_kind {
    AGENT_REQUEST_START,     /* start a command. text: its command line; host: the pod's address */
    AGENT_REQUEST_ALIVE,     /* does the agent's event loop run? */
    AGENT_REQUEST_VARIABLES, /* a rank starts: the variables that it has and mpirun lacks, a JSON
                                object. rank, size, launch; rank -1: not a rank */
    AGENT_REQUEST_EXITED,    /* a rank has ended. rank, size, launch, code, was_signalled; text: the
                                end of its output */
    AGENT_REQUEST_MISSING,   /* text: a rank's program does not exist or cannot be run */
    AGENT_REQUEST_REPORT,    /* metrics. rank (-1: the command), round; text: metric.h's lines */
    AGENT_REQUEST_POSTED,    /* the same of a status that was posted (status_server.h); text: may be
                                "": it counts as progress */
    AGENT_REQUEST_WAITS, /* rank, round; text: what keeps it from storing its result; "": nothing
                            any more */
    AGENT_REQUEST_KINDS
};

struct agent_request {
    int64_t id; /* to answer it */
    enum agent_request_kind kind;
    const char *host, *text; /* borrowed until the next call */
    pid_t pid; /* of the client, as the agent sees it; it runs until it has its answer */
    /* The client has run longer than this agent: an earlier agent of this pod started it, was
     * killed and left it behind. False where its process cannot be seen from here. */
    bool is_left_behind;
    int rank, code;
    int size;           /* of the rank's launch (gang_proof.h); 0: unknown */
    int64_t round;      /* REPORT, POSTED: in which the client was started; 0: unknown */
    bool was_signalled; /* a signal from outside of its process group asked it to end */
    /* The launch that the rank belongs to: letters, digits and . _ - @ */
    char launch[AGENT_SOCKET_LAUNCH_MAX];
};

/* ---- the agent's side ------------------------------------------------------------------------ */

struct agent_socket;

/* Listens at that path; replaces a file that is there. INVALID: the path is too long. */
NODISCARD int agent_socket_open(const char *path, struct agent_socket **ret_socket,
                                struct error *err);
/* Closes the connections of waiting clients without an answer. Accepts NULL. */
void agent_socket_free(struct agent_socket *socket);

/* Takes the next complete request; each needs an answer. False: there is none now. */
bool agent_socket_take(struct agent_socket *socket, struct agent_request *ret_request);
/* Takes the id of a START whose client has disconnected. False: there is none now. */
bool agent_socket_take_abandoned(struct agent_socket *socket, int64_t *ret_id);
/* Answers a request; nothing happens if its client has disconnected. code: START: the program's
 * exit code; else 0, or an error that `text` explains. */
void agent_socket_answer(struct agent_socket *socket, int64_t id, int code, const char *text);

/* ---- clients --------------------------------------------------------------------------------- */

/* The round in which this process was started ($WINDLASS_ROUND); 0: unknown. */
int64_t agent_socket_own_round(void);
/* Sends a request (its id is ignored) and waits for the answer. *ret_text: the caller frees. path:
 * $WINDLASS_SOCKET. INVALID: path is NULL; UNAVAILABLE: the agent has ended; TIMEOUT: it does not
 * answer. */
NODISCARD int agent_socket_ask(const char *path, const struct agent_request *request, int *ret_code,
                               char **ret_text, struct error *err);
