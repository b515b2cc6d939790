/* log_json.h: one log line as a JSON object, written into an array of the caller: no memory is
 * allocated, and whatever the texts are, the line is one valid object. Pure; for lib/log.c. */
#pragma once

#include "lib/base.h"

struct log_json {
    char *line;
    size_t room, used;
};

/* Starts the object in line[room], room at least LOG_JSON_ROOM_MIN. */
enum { LOG_JSON_ROOM_MIN = 256 };
void log_json_begin(struct log_json *json, char *line, size_t room);

/* Adds a member with a text as its value. Bytes that are not UTF-8 become U+FFFD, control
 * characters are escaped. What does not fit is cut between characters; a member of which not even
 * the name fits is left out. share: bytes that the value may take at most, so that those that
 * follow fit, too; 0: no limit but the room. */
void log_json_add(struct log_json *json, const char *name, const char *value, size_t share);

/* Closes the object and adds a line break; returns the bytes of the line. */
size_t log_json_end(struct log_json *json);
