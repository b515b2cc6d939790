/* hub.h: the server that all members of a gang register with: WebSocket /gang and GET /progress, in
 * a thread of its own, which owns the gang (gang.h) and carries out its actions. It runs in the pod
 * of index 0, whose own member connects like all others. */
#pragma once

#include "agent/launch/gang/gang.h"
#include "agent/launch/gang/objective.h"
#include "lib/error.h"

struct hub_options {
    const char *bind;                              /* "IP:PORT": ranks find member 0 at that IP */
    const char *certificate_pem, *key_pem, *token; /* copied, as ... */
    const char *pod;                               /* ... the name of this one, member 0's */
    struct gang_options gang;
    struct objective_options objective;
    const char *before; /* the objective as the previous hub left it; NULL: there was none */
    /* The ranks are windlass-trainer, whose codes 1 and 2 mean that a restart would end the same:
     * the loss is NaN, or the spec, model or data are wrong. */
    bool is_trainer;
};

struct hub;

/* Listens and serves until hub_free. */
NODISCARD int hub_start(const struct hub_options *options, struct hub **ret_hub, struct error *err);
/* Since its thread has turned last; it does twice a second. Any thread. */
int64_t hub_silent_ms(struct hub *hub);
/* There is a newer hub, or this one cannot continue: this pod must exit with 3. Any thread. */
bool hub_gives_way(struct hub *hub);
/* The answer to GET /progress (JSON, one line); the caller frees. Any thread. */
char *hub_progress(struct hub *hub);
/* Sends the end to the members, for a second at most, and stops. NULL is fine. */
void hub_free(struct hub *hub);
