/* log.h: one line per event on stderr: time, level, message, key=value pairs; or the same as a JSON
 * object. For main functions, commands, the controller, the coordinator and the worker; other
 * modules return errors instead. Never log a token, key or secret. Thread-safe (one write per
 * line). */
#pragma once

#include "lib/base.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG, LOG_LEVEL_COUNT };

/* The default is LOG_INFO. Set it once, before threads start. */
void log_set_level(enum log_level level);

/* LOG_TEXT (the default): `2026-11-23T06:40:00Z INFO leading after=12ms`.
 * LOG_JSON: {"time":"2026-11-23T06:40:00.120Z","level":"info","message":"leading","after":"12ms"},
 * with all values as texts, and at most LOG_LINE_MAX bytes. A pair "job" of the form
 * `KIND NAMESPACE/NAME` also becomes the members namespace and name. Set it like the level. */
enum log_format { LOG_TEXT, LOG_JSON, LOG_FORMAT_COUNT };
enum { LOG_LINE_MAX = 4096 /* PIPE_BUF: lines of several processes do not mix */ };
void log_set_format(enum log_format format);
/* Reads "text" or "json"; false for anything else. */
bool log_format_parse(const char *text, enum log_format *ret_format);
/* The job that this whole process belongs to: the member "name" of all its JSON lines. Borrowed for
 * the life of the process. NULL: none. */
void log_set_job(const char *name);

/* Writes a line: log_event(LOG_INFO, "lease granted batch=%d", batch). */
void log_event(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same with names and values as texts, ended by NULL. A value that is not one plain word is
 * quoted; a pair with a NULL value is left out:
 * log_pairs(LOG_WARNING, "reconcile failed", "job", key, NULL). */
void log_pairs(enum log_level level, const char *message, ...) __attribute__((sentinel));
/* Reads "error", "warning", "info", "debug"; false for anything else. */
bool log_level_parse(const char *text, enum log_level *ret_level);
