/* trainer_variables.h: tells how much of the network is trained. A part of trainer_state.h. */
#pragma once

#include "agent/train/trainer_state.h"

/* Says how much is trained, and names what is not, with the reason. */
void trainer_say_variables(const struct trainer *trainer);
/* Sends the numbers for the job's status (latest_metrics.h). Datagrams may be lost, so it is called
 * in every epoch. */
void trainer_send_variables(const struct trainer *trainer);
