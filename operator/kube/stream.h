/* stream.h: splits an API server's answer into pieces while it arrives: the lines of a watch, or
 * the items of a list. So at most one piece is in memory. Pure. */
#pragma once

#include "lib/buffer.h"
#include "lib/tree.h"

/* Gets one piece: borrowed, not NUL-terminated. It returns -1 and sets *err to stop the stream. */
typedef int stream_piece(void *context, const char *text, size_t size, struct error *err);

/* Splits into lines, without their line breaks; empty lines are skipped. */
struct stream_lines {
    struct buffer partial; /* the text after the last line break; stream_lines_release drops it */
};
void stream_lines_init(struct stream_lines *lines, size_t line_max);
void stream_lines_release(struct stream_lines *lines);
NODISCARD int stream_lines_feed(struct stream_lines *lines, const char *data, size_t size,
                                stream_piece *piece, void *context, struct error *err);

/* Splits one JSON object into the elements of its array "items", and the rest of the object, which
 * is called the envelope. */
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
/* Call it at the end. *ret_envelope: the object with an empty "items". Fails with INVALID when the
 * input is incomplete. */
NODISCARD int stream_items_end(const struct stream_items *items, json_t **ret_envelope,
                               struct error *err);

/* Like json_loadb, but skips metadata.managedFields, which is not needed here and is up to half of
 * a server's answer: its value becomes 0. In texts of an unusual form it may be parsed as usual. */
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
    const char *resource_version; /* borrowed from object; "" for an ERROR */
};

/* Parses one line of a watch. Fails with INVALID when it is not an event. */
NODISCARD int stream_event_parse(const char *text, size_t size, struct stream_event *ret_event,
                                 struct error *err);

/* A version of an object: a number alone may be another object's, of a kind that the server keeps
 * in another etcd. */
struct stream_identity {
    uint64_t version;
    const char *uid; /* not terminated; borrowed, as spelled in JSON */
    size_t uid_size;
};
/* Of an event ADDED or MODIFIED, without parsing the rest of it; version 0: it is another event, it
 * has no uid, or its version is not a number. */
struct stream_identity stream_event_identity(const char *text, size_t size);

/* Parses one object of an API server, without metadata.managedFields. */
NODISCARD int stream_object_parse(const char *text, size_t size, json_t **ret_object,
                                  struct error *err);
