/* tunnel_stream.h: one connection of tunnel.h, between a launcher of this pod and another pod's
 * agent: set up step by step, then bytes in both directions. Nothing blocks. Private to tunnel.c.
 */
#pragma once

#include "lib/net/keyed_stream.h"

#include "agent/launch/tunnel/preload_frame.h"
#include "agent/launch/tunnel/tunnel.h"

enum { TUNNEL_FLOW_MAX = 32 << 10 };

enum tunnel_state {
    TUNNEL_FRAME,     /* a launcher of this pod has connected: its frame is read */
    TUNNEL_CONNECT,   /* connecting to the other pod, or to the launcher of this one */
    TUNNEL_HANDSHAKE, /* TLS */
    TUNNEL_PORT,      /* another pod has shown the key: the port that it wants is read */
    TUNNEL_OPEN,
    TUNNEL_CLOSED
};

/* One side, and the bytes that wait to be written to it. */
struct tunnel_side {
    int fd;                   /* -1: none yet */
    struct keyed_stream *tls; /* NULL: plain */
    bool has_ended;           /* it sends no more */
    bool is_ended;            /* the end of the other direction has been passed on */
    short events;             /* for poll(2) */
    char *flow;               /* owned, TUNNEL_FLOW_MAX bytes */
    size_t start, size;       /* the part of it that is full */
};

struct tunnel_stream {
    enum tunnel_state state;
    bool is_near; /* a launcher of this pod connects to another pod */
    struct tunnel_side program, pod;
    int64_t until_ms; /* the time limit of a state before TUNNEL_OPEN */
    char source[46];  /* the address that it came from */
    bool is_host;     /* which is a pod's of the round */
    uint8_t frame[PRELOAD_FRAME_SIZE];
    size_t frame_size;
    int index;     /* near: of the other pod */
    int open_port; /* which needs no way through us; 0: none */
    bool has_more; /* bytes can be moved without waiting */
    struct tunnel_stream *next;
};

/* What a stream needs of its tunnel. */
struct tunnel_view {
    struct keyed_stream_context *keys;
    const uint8_t *key; /* PRELOAD_KEY_SIZE bytes: what launchers of this pod show */
    int index;          /* of this pod */
    const char *address;
    const struct tunnel_host *hosts;
    size_t host_count;
};

/* Takes over the connected socket. */
struct tunnel_stream *tunnel_stream_new(int fd, bool is_near, const char *source, int64_t now_ms);
void tunnel_stream_free(struct tunnel_stream *stream);
/* Goes as far as possible without waiting. */
void tunnel_stream_run(struct tunnel_stream *stream, const struct tunnel_view *view,
                       int64_t now_ms);
/* The key has not been shown yet. */
bool tunnel_stream_is_pending(const struct tunnel_stream *stream);
