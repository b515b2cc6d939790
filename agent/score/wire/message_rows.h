/* message_rows.h: reads the messages that come most often, results without failures, without a JSON
 * library: most of a coordinator's time went into its trees. Private to message.c. */
#pragma once

#include "agent/score/wire/message.h"

/* False: the message is another one, or not as it should be, and nothing is returned: message_parse
 * reads it, or says what is wrong. */
bool message_rows_read(const char *text, size_t size, struct message *ret_message);
