/* script_server.h: an HTTP/1.1 server whose every answer the test decides. It runs inside
 * script_server_poll, in the test's own thread, and blocks nowhere. For the conduct of
 * operator/kube/ where a real API server cannot be made to do it. */
#pragma once

#include "lib/base.h"

struct script_server;
struct script_connection;

struct script_request {
    struct script_connection *connection;
    char method[16];
    const char *path;    /* without the query */
    const char *query;   /* "" where there is none; as sent */
    const char *headers; /* all lines, as sent */
    const char *body;    /* "" where there is none */
};

/* Called for each request, and answers by one of the functions below, now or later. */
typedef void script_answer(void *context, const struct script_request *request);

struct script_server *script_server_new(script_answer *answer, void *context);
void script_server_free(struct script_server *server);
int script_server_port(const struct script_server *server);
/* Takes connections and requests. Returns whether anything happened. */
bool script_server_poll(struct script_server *server);

/* extra: more header lines, each with \r\n; "" for none. */
void script_reply(struct script_connection *connection, int status, const char *extra,
                  const char *body);
/* An answer of status 200 in pieces. Pieces to a connection that is gone are dropped. */
void script_stream(struct script_connection *connection);
void script_send(struct script_connection *connection, const char *piece);
void script_end(struct script_connection *connection);
/* Closes the connection, in the middle of an answer. */
void script_cut(struct script_connection *connection);
/* Whether the client still holds this connection, and its last request has had no end yet. */
bool script_is_open(const struct script_connection *connection);
