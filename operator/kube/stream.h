/* stream.h: what an API server sends, cut into pieces as it comes: the lines of a watch, the items
 * of a list. Pure; a piece is told of while the rest is still on its way, so that no more than one
 * is ever in memory. */
#pragma once

#include "lib/buffer.h"
#include "lib/tree.h"

/* A piece, borrowed, not NUL-terminated. -1 with *err set stops the stream. */
typedef int stream_piece(void *context, const char *text, size_t size, struct error *err);

/* Lines without their line break, empty ones left out. What comes after the last line break is
 * half a line: it is dropped by stream_lines_release. */
struct stream_lines {
    struct buffer half;
};
void stream_lines_init(struct stream_lines *lines, size_t line_max);
void stream_lines_release(struct stream_lines *lines);
NODISCARD int stream_lines_feed(struct stream_lines *lines, const char *data, size_t size,
                                stream_piece *piece, void *context, struct error *err);

/* The elements of the array "items" of one JSON object; everything around them is the envelope. */
struct stream_items {
    struct buffer item, envelope;
    int depth;
    bool is_in_items, is_in_text, is_escaped;
};
enum { STREAM_ENVELOPE_MAX = 1 << 20 };
void stream_items_init(struct stream_items *items, size_t item_max);
void stream_items_release(struct stream_items *items);
/* Fails with INVALID on what cannot be such an object, EXHAUSTED on a larger item. */
NODISCARD int stream_items_feed(struct stream_items *items, const char *data, size_t size,
                                stream_piece *piece, void *context, struct error *err);
/* At the end: the object, with "items" empty. Fails with INVALID when it is cut. */
NODISCARD int stream_items_end(const struct stream_items *items, json_t **ret_envelope,
                               struct error *err);

/* As json_loadb, but of metadata.managedFields, which is up to half of what a server sends and
 * which nobody here uses, no tree is made: 0 stands there, where it could be told in the text. */
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

/* One line of a watch. Fails with INVALID when it is nothing of the sort. */
NODISCARD int stream_event_parse(const char *text, size_t size, struct stream_event *ret_event,
                                 struct error *err);

/* One object as Kubernetes sends it, without metadata.managedFields. */
NODISCARD int stream_object_parse(const char *text, size_t size, json_t **ret_object,
                                  struct error *err);
