/* stream.h: splits an API server's answer into pieces as it arrives: the lines of a watch, the
 * items of a list. Pure. A piece is reported while the rest is still in transit, so that at most
 * one is in memory. */
#pragma once

#include "lib/buffer.h"
#include "lib/tree.h"

/* A piece, borrowed, not NUL-terminated. -1 with *err set stops the stream. */
typedef int stream_piece(void *context, const char *text, size_t size, struct error *err);

/* Lines without their line break; empty lines are skipped. Text after the last line break is an
 * incomplete line; stream_lines_release drops it. */
struct stream_lines {
    struct buffer half;
};
void stream_lines_init(struct stream_lines *lines, size_t line_max);
void stream_lines_release(struct stream_lines *lines);
NODISCARD int stream_lines_feed(struct stream_lines *lines, const char *data, size_t size,
                                stream_piece *piece, void *context, struct error *err);

/* The elements of the array "items" of one JSON object; the rest of the object is the envelope. */
struct stream_items {
    struct buffer item, envelope;
    int depth;
    bool is_in_items, is_in_text, is_escaped;
};
enum { STREAM_ENVELOPE_MAX = 1 << 20 };
void stream_items_init(struct stream_items *items, size_t item_max);
void stream_items_release(struct stream_items *items);
/* Fails with INVALID on invalid input, EXHAUSTED on an item larger than the limit. */
NODISCARD int stream_items_feed(struct stream_items *items, const char *data, size_t size,
                                stream_piece *piece, void *context, struct error *err);
/* At the end: the object, with "items" empty. Fails with INVALID when the input is incomplete. */
NODISCARD int stream_items_end(const struct stream_items *items, json_t **ret_envelope,
                               struct error *err);

/* Like json_loadb, but metadata.managedFields, which is up to half of a server's answer and unused
 * here, is not parsed: its value is 0 where the text allows to recognize it. */
json_t *stream_json_parse(const char *text, size_t size, json_error_t *ret_problem);

enum stream_event_type {
    STREAM_ADDED,
    STREAM_MODIFIED,
    STREAM_DELETED,
    STREAM_BOOKMARK,
    STREAM_ERROR, /* object is a Status */
    STREAM_EVENT_COUNT
};

struct stream_event {
    enum stream_event_type type;
    json_t *object;               /* owned */
    const char *resource_version; /* in object; "" for an ERROR */
};

/* Parses one line of a watch. Fails with INVALID when it is not an event. */
NODISCARD int stream_event_parse(const char *text, size_t size, struct stream_event *ret_event,
                                 struct error *err);

/* Parses one object of an API server, without metadata.managedFields. */
NODISCARD int stream_object_parse(const char *text, size_t size, json_t **ret_object,
                                  struct error *err);
