/* log.h: one line per event on stderr: time, level, message, key=value pairs. For main functions,
 * commands, the controller, the coordinator and the worker; other modules return errors instead.
 * Never log a token, key or secret. Thread-safe (one write per line). */
#pragma once

#include "lib/base.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* The default is LOG_INFO. Set it once, before threads start. */
void log_set_level(enum log_level level);

/* Writes a line: log_event(LOG_INFO, "lease granted batch=%d", batch). */
void log_event(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same with names and values as texts, ended by NULL. A value that is not one plain word is
 * quoted; a pair with a NULL value is left out:
 * log_pairs(LOG_WARNING, "reconcile failed", "job", key, NULL). */
void log_pairs(enum log_level level, const char *message, ...) __attribute__((sentinel));
/* Reads "error", "warning", "info", "debug"; false for anything else. */
bool log_level_parse(const char *text, enum log_level *ret_level);
