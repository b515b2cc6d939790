/* trainer_variables.h: tells how much of the network is trained. A part of trainer_state.h. */
#pragma once

#include "agent/train/trainer_state.h"

/* Says how much is trained, and names what is not, with the reason. */
void trainer_say_variables(const struct trainer *trainer);
