/* socket.h: a WebSocket client that stays connected to one server: it knows the server by the
 * SHA-256 of its certificate alone, sends its token only to that server, and connects again after
 * a pause that grows with the time without a connection (libwebsockets, TLS 1.3 only). One thread:
 * every function but socket_wake is called from the thread that services; the events come out of
 * socket_service. */
#pragma once

#include "lib/error.h"

enum {
    SOCKET_MESSAGE_MAX = 1 << 20, /* bytes of one message, both ways */
    SOCKET_PING_S = 3,            /* an idle connection is pinged after this */
    SOCKET_SILENCE_S = 6,         /* and given up after so much more without a sign of life */
    /* Before a new attempt: a share of the time without a connection, plus up to half of it again.
     * So who waits for a server that starts loses little, and who waits for long asks seldom. */
    SOCKET_SHARE = 16,
    SOCKET_PAUSE_MS = 40, /* at least */
    SOCKET_PAUSE_MAX_MS = 3000,
    SOCKET_PAUSE_DENIED_MS = 1000, /* at least, when the server answered and wants us not */
    /* A network that has no way to a server yet drops the first packet of an attempt, and goes on
     * dropping this attempt's when there is one. So an attempt without any answer is given up after
     * such a share, too, and the next is made. */
    SOCKET_SYN_MS = 100, /* at least */
};

struct socket_client;

/* All are called with socket_options.context; all must be given. */
struct socket_events {
    void (*opened)(void *context);
    /* text is NUL-terminated, `size` bytes, borrowed. */
    void (*received)(void *context, const char *text, size_t size);
    /* An open connection was lost, or an attempt failed. DENIED: the server shows another
     * certificate or refuses the token. */
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

/* Starts to connect. Fails with INVALID when the address or the digest are no such thing. */
NODISCARD int socket_open(const struct socket_options *options, struct socket_client **ret_socket,
                          struct error *err);
/* Cuts the connection (without a `closed` event). */
void socket_free(struct socket_client *socket);
void socket_freep(struct socket_client **socket);

/* Handles what came in, or waits for it for at most timeout_ms. Fails when the event loop does. */
NODISCARD int socket_service(struct socket_client *socket, int timeout_ms, struct error *err);
/* Makes socket_service return soon. From any thread. */
void socket_wake(struct socket_client *socket);

bool socket_is_open(const struct socket_client *socket);
/* Queues a text message (copied). Without a connection it is dropped: what is worth repeating is
 * for the caller to say again in `opened`. */
void socket_send(struct socket_client *socket, const char *text);
