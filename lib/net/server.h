/* server.h: a server of pages (GET, and POST if it is wanted) and one WebSocket path over HTTPS
 * (libwebsockets, TLS 1.3 only), or of pages alone over plain HTTP. One thread calls all functions
 * but server_wake; events come from server_service. Text messages only. A peer that does not answer
 * a ping within SERVER_PING_S + SERVER_SILENCE_S is closed. Connections without a token, those that
 * read pages too, are limited as lib/net/preauth.h says, and never take the place of those with
 * it. */
#pragma once

#include "lib/contract.h"
#include "lib/error.h"
#include "lib/net/preauth.h"

/* The header with the token of readers. Not Authorization: the API server's proxy of Services takes
 * that off before it passes a request on. */
#define SERVER_READ_HEADER "Windlass-Read-Token"

enum {
    SERVER_TAG_MAX = 72,
    SERVER_QUEUE_MAX = 8 << 20, /* unsent bytes of one peer; with more it is closed */
    SERVER_PEERS_MAX = 16384,   /* open WebSockets */
    SERVER_HANDSHAKE_S = 10,    /* seconds for TLS and to show the token, or to read a page */
    SERVER_READER_S = 5,        /* the same of a server with pages alone */
    SERVER_USER_S = 60,         /* the same of one that takes posts, for a user of this machine */
    SERVER_PING_S = 3,          /* an idle connection is pinged after these seconds (socket.h: the
                                   client's side) */
    SERVER_SILENCE_S = 6,       /* and closed after these further seconds without a byte */
};

struct server;
struct server_peer; /* an open WebSocket: valid from `opened` until `closed` returns */

struct server_page {
    char *body;               /* owned, server.c frees it; NULL: 404 */
    size_t body_size;         /* 0: the body is a text, up to its NUL */
    const char *content_type; /* NULL: application/json */
    int status;               /* 0: 200 */
    /* Further headers: "name:" and value, in turn; ends with NULL. Literals; NULL: none. */
    const char *const *headers;
    char tag[SERVER_TAG_MAX]; /* the header ETag, with its quotes; "": none */
};

/* A GET, or with server_options.takes_posts a POST; texts are borrowed until the callback returns.
 * A POST must have a Content-Length: there are no bodies in pieces (chunked). */
struct server_request {
    const char *path;
    bool may_read; /* the server has no read_token, or the request has it in SERVER_READ_HEADER */
    const char *authorization;    /* the header; NULL: none, or longer than 16 KiB */
    struct preauth_source source; /* who asks */
    const char *host;             /* the header; NULL: none, or too long */
    const char *known_tag;        /* the header If-None-Match; NULL: none, or too long */
    bool is_post;
    bool is_meant;    /* the header Windlass-Action is "1": no form or link of a page sends it */
    const char *body; /* of a POST, with a NUL behind it; may contain NULs. NULL: empty */
    size_t body_size;
};

/* Callbacks, with server_options.context. All are required; without a WebSocket (socket_path is
 * NULL) only page. */
struct server_events {
    /* Answers a GET or POST. Clients need no token for that; which pages are for readers alone, the
     * callback decides: server_page_closed() is the answer to others. */
    struct server_page (*page)(void *context, const struct server_request *request);
    void (*opened)(void *context, struct server_peer *peer);
    /* text: `size` bytes and a NUL, borrowed; may contain anything, also NULs. */
    void (*received)(void *context, struct server_peer *peer, const char *text, size_t size);
    void (*closed)(void *context, struct server_peer *peer);
};

struct server_options {
    const char *bind;                      /* "IP:PORT", "[IPv6]:PORT"; port 0: a free one */
    const char *certificate_pem, *key_pem; /* both NULL: plain HTTP without a WebSocket */
    const char *socket_path;               /* the WebSocket's path, "/work"; NULL: none */
    const char *token; /* WebSocket clients must send "Authorization: Bearer TOKEN", else 401 */
    const struct server_events *events;
    void *context;
    const char *read_token; /* NULL: everybody may read */
    bool takes_posts;       /* otherwise only GET is answered */
    size_t body_max;        /* bytes of a POST's body; 0: only POSTs without one are answered */
};

/* 403, which names only the missing header. Not 401: through the API server's proxy
 * that would mean to clients that the API server refuses their own credentials. */
struct server_page server_page_closed(void);
/* A page for readers alone: the body, or server_page_closed for all others. */
struct server_page server_page_of_readers(const struct server_request *request, char *body_new);

/* Starts to listen. INVALID: bind, certificate or key is invalid; otherwise the system's error for
 * the address. The texts are copied; events must outlive the server. */
NODISCARD int server_open(const struct server_options *options, struct server **ret_server,
                          struct error *err);
/* Connections that begin from now on have this certificate, with those of the authorities that are
 * behind it. From the thread of server_service; not for plain HTTP. INVALID: as for server_open;
 * the one before stays. */
NODISCARD int server_renew(struct server *server, const char *certificate_pem, const char *key_pem,
                           struct error *err);
/* Closes all connections, without `closed` events. */
void server_free(struct server *server);
void server_freep(struct server **server);

int server_port(const struct server *server);

/* Waits up to timeout_ms for events and handles them. Fails when the event loop fails. */
NODISCARD int server_service(struct server *server, int timeout_ms, struct error *err);
/* Makes server_service return soon. Any thread. */
void server_wake(struct server *server);

/* Queues a text message (copied). A peer with more than SERVER_QUEUE_MAX unsent bytes, or a text of
 * more than CONTRACT_MESSAGE_MAX bytes, closes the connection; `closed` follows, from
 * server_service.
 */
void server_send(struct server_peer *peer, const char *text);
/* Closes the peer when its queue is sent; `closed` follows, from server_service. */
void server_close(struct server_peer *peer);

/* A pointer of the caller's, initially NULL. */
void server_peer_set(struct server_peer *peer, void *own);
void *server_peer_get(const struct server_peer *peer);
