/* message_names.h: what types and faults are called in a message; of message.c and
 * message_write.c. */
#pragma once

#include "agent/score/wire/message.h"

extern const char *const message_type_names[];  /* by enum message_type */
extern const char *const message_fault_names[]; /* by enum message_fault */
