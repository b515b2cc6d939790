/* keyed_stream.h: TLS 1.3 between two sides that know the same key, without certificates (RFC 8446,
 * 4.2.11: a pre-shared key with an ephemeral exchange). A side without the key can neither
 * connect nor accept a connection. Over the caller's non-blocking sockets; nothing blocks. The
 * caller ignores or blocks SIGPIPE. Not thread-safe. */
#pragma once

#include "lib/error.h"

enum { KEYED_STREAM_KEY_SIZE = 32, KEYED_STREAM_NAME_MAX = 63 };

/* What all streams with one key share: a TLS context with that pre-shared key. */
struct keyed_stream_context;
/* The key is copied. */
NODISCARD int keyed_stream_context_new(const uint8_t key[static KEYED_STREAM_KEY_SIZE],
                                       struct keyed_stream_context **ret_context,
                                       struct error *err);
/* After its streams were freed. Accepts NULL. */
void keyed_stream_context_free(struct keyed_stream_context *context);

struct keyed_stream;
/* name: of the listening side, sent as TLS's server name. A listener refuses a connection that was
 * made for another name, so no one can redirect one. The caller keeps fd and closes it after
 * keyed_stream_free. context must outlive the stream. */
NODISCARD int keyed_stream_new(struct keyed_stream_context *context, int fd, bool connects,
                               const char *name, struct keyed_stream **ret_stream,
                               struct error *err);
void keyed_stream_free(struct keyed_stream *stream); /* accepts NULL */

enum keyed_stream_result {
    KEYED_STREAM_DONE,
    KEYED_STREAM_WAITS, /* for keyed_stream_events on the socket */
    KEYED_STREAM_ENDED, /* the other side has ended its direction */
    KEYED_STREAM_FAILED
};
/* Continues to set it up. */
enum keyed_stream_result keyed_stream_shake_hands(struct keyed_stream *stream);
/* Reads or writes up to size bytes, size > 0. A write that waits must be repeated with the same
 * bytes, or more. *ret_size is set if DONE. */
enum keyed_stream_result keyed_stream_read(struct keyed_stream *stream, void *data, size_t size,
                                           size_t *ret_size);
enum keyed_stream_result keyed_stream_write(struct keyed_stream *stream, const void *data,
                                            size_t size, size_t *ret_size);
/* Ends this side's direction; the other one goes on. */
enum keyed_stream_result keyed_stream_end(struct keyed_stream *stream);
/* For poll(2): what the last call that had to wait waits for; 0: nothing. */
short keyed_stream_events(const struct keyed_stream *stream);
