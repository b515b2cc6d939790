/* trainer_variables.h: reports which weights of the network are trained, and why others are not. A
 * part of trainer_state.h. */
#pragma once

#include "agent/train/trainer_state.h"

/* Logs what was changed in a network from a file to bring it into the form for inference. */
void trainer_say_forms(const struct trainer *trainer);
/* Logs how many weights are trained, and names those that are not, with the reason. */
void trainer_say_variables(const struct trainer *trainer);
/* Sends the numbers for the job's status (latest_metrics.h). Datagrams may be lost, so it is called
 * in every epoch. */
void trainer_send_variables(const struct trainer *trainer);
