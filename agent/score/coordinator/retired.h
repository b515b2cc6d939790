/* retired.h: slots of workers that the operator gives up after too many deaths in a row, for
 * summary.json. The coordinator cannot ask the operator; so each worker that takes a dead one's
 * place reports with its hello how many have died before it, how many are too many, and how the
 * last one ended (WINDLASS_DEATHS, WINDLASS_BEFORE). If the last worker that is allowed is lost,
 * too, before it has finished a lease, its slot is retired. Slots that were retired under earlier
 * coordinators are in WINDLASS_RETIRED. A slot whose last pods die before their hello is in the
 * resource's status only. */
#pragma once

#include "agent/score/wire/message.h"

enum { RETIRED_MAX = 1024 }; /* workers that are kept */

/* *slots: {WORKER: {"deaths", "most", "message", "isGone"}}; owned by the caller; NULL at first. */
void retired_hello(json_t **slots, const struct message *hello);
/* That worker has finished a lease. */
void retired_finish(json_t *slots, const char *worker);
/* Its connection is closed; is_orderly: as announced. It may come back with another hello. */
void retired_leave(json_t *slots, const char *worker, bool is_orderly);
/* [{"pod", "deaths", "message"}], earlier ones first; owned by the caller. earlier:
 * WINDLASS_RETIRED, an array of such objects; NULL: none. */
json_t *retired_rows(const json_t *slots, const json_t *earlier);
