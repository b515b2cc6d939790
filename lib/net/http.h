/* http.h: HTTP requests as transfers of one event loop: HTTP/2 where the server has it, connections
 * kept and shared. The only user of libcurl. A `struct http` belongs to one thread, in which all
 * callbacks come, out of http_wait; several may live side by side. Follows no redirect. SIGPIPE
 * must be ignored: a peer that goes away while we write is an error of the call. */
#pragma once

#include "lib/error.h"

struct http;
struct http_call; /* a request under way: valid until its done was called, or http_cancel */

struct http_answer {
    int status;             /* 200, 404, ... */
    const char *body;       /* NUL-terminated, borrowed; empty when `received` took it */
    size_t size;            /* bytes of body */
    int retry_after_s;      /* what the header Retry-After asks for, 0 when it does not */
    struct http_call *call; /* for http_answer_header */
};

/* The value of a header of the answer, whatever the case of its name; NULL: it has none. Borrowed,
 * until done returns. */
const char *http_answer_header(const struct http_answer *answer, const char *name);

/* How a call ended: an answer, whatever its status, or an error:
 *   UNAVAILABLE no connection, or one that broke;   TIMEOUT    one of the three limits
 *   DENIED      the server shows another certificate;   EXHAUSTED  a larger body than max_bytes
 *   INVALID     not an address, no client certificate; or what `received` refused with.
 * is_sent is false when the server cannot have seen the request. */
typedef void http_done(void *context, const struct http_answer *answer, bool is_sent,
                       const struct error *err);

/* A piece of the body as it comes. -1 with *err set ends the call with that error. */
typedef int http_received(void *context, const char *data, size_t size, struct error *err);

enum http_reuse {
    HTTP_SHARE, /* any open connection to that server, or a new one, which is kept */
    HTTP_FRESH, /* a new connection, which is kept: the old ones may be dead */
    HTTP_ONCE,  /* a connection of its own, closed afterwards */
};

/* Zero means none or no limit wherever a field may be left out. */
struct http_request {
    const char *url;            /* "https://IP:PORT/path"; http:// only without any TLS field */
    const char *shown_url;      /* in messages, where the URL holds a secret; NULL: the URL */
    const char *method;         /* NULL: GET; of HEAD only the headers are waited for */
    const char *const *headers; /* "Name: value" texts and a NULL, or NULL */
    const char *bearer_token;   /* for the header Authorization */
    const char *body;
    size_t body_size;
    bool borrows_body;   /* the body is not copied, and stays where it is until done */
    bool is_http1;       /* HTTP/1.1: each call under way has a connection of its own */
    const char *resolve; /* "HOST:PORT:ADDRESS,ADDRESS": where the URL's host is; no name is asked
                          * for then, and certificates are still compared with the name */

    /* Who the server must be: the holder of exactly this certificate, whatever names it has (TLS
     * 1.3 only, for the servers of Windlass), or one that these authorities vouch for, or, with
     * neither, one that this machine's authorities vouch for. */
    const char *certificate_pem;
    const char *authorities_pem;
    const char *authorities_file; /* the same, as a file that is read once for each struct http */
    const char *server_name; /* to ask for and to find in its certificate instead of the URL's */
    bool is_insecure;        /* take any certificate (a kubeconfig can ask for that) */
    const char *client_certificate_pem, *client_key_pem; /* who we are */
    const char *proxy;                                   /* "http://..", "socks5://.." */

    enum http_reuse reuse;
    int connect_ms;   /* until the connection stands */
    int timeout_ms;   /* for the whole call */
    int silence_ms;   /* without a byte of the body */
    size_t max_bytes; /* of a body that is collected */

    http_received *received; /* gets the body of a status below 300; others are collected */
    http_done *done;         /* may start and cancel calls */
    void *context;
};

NODISCARD int http_open(struct http **ret_http, struct error *err);
/* Calls under way are dropped without their done. */
void http_free(struct http *http);
void http_freep(struct http **http);

/* Starts a call; everything in *request is copied. *ret_call (which may be NULL) is for
 * http_cancel. Fails with INVALID, and then without calling done. May be called from done and
 * received. */
NODISCARD int http_start(struct http *http, const struct http_request *request,
                         struct http_call **ret_call, struct error *err);
/* Drops a call without its done. Not from its own callbacks. */
void http_cancel(struct http *http, struct http_call *call);
size_t http_count(const struct http *http); /* calls under way */

/* Moves the calls on and calls back; waits up to timeout_ms (-1: for ever) until there is something
 * to do. A signal ends the wait early. */
NODISCARD int http_wait(struct http *http, int timeout_ms, struct error *err);
/* Descriptor for poll that is readable when http_wait has something to do. */
int http_fd(const struct http *http);

/* One call, blocking, on a connection of its own: *ret_status and *ret_body (NUL-terminated, the
 * caller's). Needs no struct http, and may be called from any thread. */
NODISCARD int http_get(const struct http_request *request, int *ret_status, char **ret_body,
                       struct error *err);
