/* hub.h: the one that all members of a gang register with: a server with WebSocket /gang and GET
 * /progress in a thread of its own, which owns the gang (gang.h) and carries out what it says. For
 * the pod of index 0, whose own member comes to it like all others. */
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
    const char
        *before; /* what the hub before this one told of the objective; NULL: there was none */
    /* Ranks are windlass-trainer's, whose codes 1 and 2 say that another start would end the same:
     * a loss that is no number, a spec, model or data that are wrong. */
    bool is_trainer;
};

struct hub;

/* Listens, and serves from then on. */
NODISCARD int hub_start(const struct hub_options *options, struct hub **ret_hub, struct error *err);
/* Since its thread has turned last; it does twice a second. Any thread. */
int64_t hub_silent_ms(struct hub *hub);
/* There is a later hub, or this one cannot go on: this pod has to end with 3. Any thread. */
bool hub_gives_way(struct hub *hub);
/* What GET /progress says (JSON, one line); the caller frees. Any thread. */
char *hub_progress(struct hub *hub);
/* Lets members hear of the end, for a second at most, and ends. NULL is fine. */
void hub_free(struct hub *hub);
