/* log.h: one line per event on stderr: time, level, message, key=value pairs. For mains, commands,
 * the controller, the coordinator and the worker; other modules return errors instead.
 * Never give it a token, key or secret. Thread-safe (one write per line). */
#pragma once

#include "lib/base.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Default LOG_INFO. Set once at start. */
void log_set_level(enum log_level level);

/* format is the whole line after the level: log_event(LOG_INFO, "lease granted batch=%d", b). */
void log_event(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same with pairs of name and value, ended by NULL; a value that is not one plain word is
 * quoted, a NULL value left out: log_pairs(LOG_WARNING, "look failed", "job", key, NULL). */
void log_pairs(enum log_level level, const char *message, ...) __attribute__((sentinel));
/* Reads "error", "warning", "info", "debug"; false when it is none of them. */
bool log_level_parse(const char *text, enum log_level *ret_level);
