/* hub.h: the server that the members of a gang connect to: WebSocket /gang (gang_message.h) and GET
 * /progress. It runs in the pod of index 0, whose own member connects to it like all others. A
 * thread of its own owns the state machine (gang.h), passes events in and carries out its actions.
 */
#pragma once

#include "agent/launch/gang/gang.h"
#include "agent/launch/gang/objective.h"
#include "agent/launch/proof/ended.h"
#include "agent/result/result_origin.h"
#include "lib/error.h"

struct hub_options {
    const char *bind; /* "IP:PORT"; ranks find member 0 at that IP */
    const char *certificate_pem, *key_pem, *token;
    const char *read_token; /* what GET /progress wants; NULL: nothing */
    const char *pod;        /* the name of this pod */
    struct gang_options gang;
    struct objective_options objective;
    const char *saved_objective; /* JSON, as the previous hub left it; NULL: none */
    /* The ranks are windlass-trainer, whose exit codes 1 and 2 are permanent failures (the loss is
     * NaN; the spec, model or data are wrong). */
    bool is_trainer;
    /* With gang.checks_result (result_check.h): the output of the training, and its run; or
     * the outputs of a command, NULL-ended, which are borrowed until hub_free. */
    const char *result_path, *run;
    char **result_outputs;
    /* Where to store that all ranks have ended; texts are borrowed until hub_free. */
    struct ended_place ended_place;
    const struct ended
        *ended; /* as an earlier hub has stored; NULL: none. Borrowed until hub_free, too */
    struct result_origin *origin; /* for result.json; NULL: none. The hub becomes a user of it */
};

struct hub;

/* Listens, and serves until hub_free. Copies the options' texts. INVALID: bind, certificate or key;
 * otherwise the system's error. */
NODISCARD int hub_start(const struct hub_options *options, struct hub **ret_hub, struct error *err);
/* Milliseconds since the hub's event loop ran last, which it does twice a second. Any thread. */
int64_t hub_silent_ms(struct hub *hub);
/* All ranks have ended under an earlier hub, and no round follows, even if their result is not
 * complete. */
bool hub_is_over(const struct hub *hub);
/* True if there is a newer hub, or this one failed: the pod must exit with 3. Any thread. */
bool hub_has_stepped_down(struct hub *hub);
/* What the pod of index 0 has printed last, for GET /progress. Any thread. */
void hub_note_line(struct hub *hub, const char *line);
/* The answer to GET /progress: JSON in one line; the caller frees. Any thread. */
char *hub_progress(struct hub *hub);
/* Delivers the remaining messages to the members, for a second at most, and stops. Accepts NULL. */
void hub_free(struct hub *hub);
