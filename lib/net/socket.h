/* socket.h: a WebSocket client that stays connected to one server (libwebsockets, TLS 1.3 only). It
 * pins the SHA-256 of the server's certificate, sends its token only to that server, and reconnects
 * with a backoff that grows with the time without a connection. One thread calls all functions but
 * socket_wake; events come from socket_service. */
#pragma once

#include "lib/contract.h"
#include "lib/error.h"

enum {
    /* The server's side has its own: SERVER_PING_S and SERVER_SILENCE_S in server.h. */
    SOCKET_PING_S = 3,    /* an idle connection is pinged after these seconds */
    SOCKET_SILENCE_S = 6, /* and closed after these further seconds without a byte */
    /* The pause before a new attempt is 1/SOCKET_PAUSE_DIVISOR of the time without a connection,
     * plus up to half of that at random: short while a server starts, long when it stays away. */
    SOCKET_PAUSE_DIVISOR = 16,
    SOCKET_PAUSE_MIN_MS = 40,
    SOCKET_PAUSE_MAX_MS = 3000,
    SOCKET_PAUSE_DENIED_MIN_MS = 1000, /* after the server refused us */
    /* A network without a route to the server yet drops the first packet of an attempt, and may
     * keep dropping that attempt's packets once there is a route. So an attempt without any answer
     * is abandoned after the same fraction, and the next one starts. */
    SOCKET_SYN_MIN_MS = 100,
};

struct socket_client;

/* Callbacks, with socket_options.context; all are required. */
struct socket_events {
    void (*opened)(void *context);
    /* text: `size` bytes and a NUL, borrowed. */
    void (*received)(void *context, const char *text, size_t size);
    /* A connection was lost or an attempt failed. DENIED: the server has another certificate or
     * refused the token. */
    void (*closed)(void *context, const struct error *why);
};

struct socket_options {
    const char *address; /* "IP:PORT" */
    const char *path;    /* "/work" */
    const char *token;
    const char *sha256; /* of the server's certificate (DER): 64 hexadecimal digits */
    const struct socket_events *events;
    void *context;
};

/* Starts to connect. INVALID: the address or the digest is invalid. */
NODISCARD int socket_open(const struct socket_options *options, struct socket_client **ret_socket,
                          struct error *err);
/* Closes the connection, without a `closed` event. */
void socket_free(struct socket_client *socket);
void socket_freep(struct socket_client **socket);

/* Waits up to timeout_ms for events and handles them. Fails when the event loop fails. */
NODISCARD int socket_service(struct socket_client *socket, int timeout_ms, struct error *err);
/* Makes socket_service return soon. Any thread. */
void socket_wake(struct socket_client *socket);

bool socket_is_open(const struct socket_client *socket);
/* Queues a text message (copied). Without a connection it is dropped: `opened` must send again what
 * still matters. */
void socket_send(struct socket_client *socket, const char *text);
