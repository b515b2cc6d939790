/* score_ask.h: what a network takes and gives, as windlass-agent reports it. */
#pragma once

#include "lib/tree.h"

/* Starts `windlass-agent model check --json` and waits for it. *ret_facts, owned, is as
 * agent/commands/model_facts.h has it. INVALID: the agent refuses the file; the message is its. */
NODISCARD int score_ask(const char *model, json_t **ret_facts, struct error *err);
