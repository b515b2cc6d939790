/* http.h: an HTTP client with one event loop: many requests at a time, HTTP/2 when the server has
 * it, connections kept and shared. The only user of libcurl. A `struct http` belongs to one thread,
 * and all callbacks come from http_wait; a process may have several. Does not follow redirects.
 * SIGPIPE must be ignored: a peer that closes while we write is an error of the call. */
#pragma once

#include "lib/error.h"

struct http;
struct http_call; /* a running request: valid until its done returned, or http_cancel */

struct http_answer {
    int status;             /* 200, 404, ... */
    const char *body;       /* NUL-terminated, borrowed; empty when `received` got it */
    size_t size;            /* bytes of body */
    int retry_after_s;      /* the header Retry-After; 0: none */
    struct http_call *call; /* for http_answer_header */
};

/* The value of a header of the answer, its name in any case; NULL: not there. Borrowed until done
 * returns. */
const char *http_answer_header(const struct http_answer *answer, const char *name);
/* The same of a header that may come several times; index: from 0. */
const char *http_answer_header_at(const struct http_answer *answer, const char *name, size_t index);

/* The end of a call. Either an answer arrived, of any status (also 404 or 500): then err is NULL.
 * Or there is none: then answer is NULL, and err is one of
 *   UNAVAILABLE  no connection, or a broken one
 *   TIMEOUT      connect_ms, timeout_ms or silence_ms is over
 *   DENIED       the server's certificate is refused: not the expected one, by an unknown
 *                authority, for another name, or expired; the authorities cannot be read; or its
 *                address is refused (refuses_link_local)
 *   EXHAUSTED    the body is larger than bytes_max, or the headers than 256 KiB
 *   UNSUPPORTED  the answer has a Transfer-Encoding other than chunked
 *   INVALID      a bad address or client certificate
 * or the error that `received` returned. Both are borrowed until done returns. is_sent is false
 * when the server cannot have received the request, which is then safe to repeat. */
typedef void http_done(void *context, const struct http_answer *answer, bool is_sent,
                       const struct error *err);

/* A piece of the body, as it arrives. 0: go on; -1 with *err set ends the call with that error. */
typedef int http_received(void *context, const char *data, size_t size, struct error *err);

enum http_reuse {
    HTTP_SHARE, /* an open connection to that server, or a new one, which is kept */
    HTTP_FRESH, /* a new connection, which is kept: open ones may be dead */
    HTTP_ONCE,  /* its own connection, closed afterwards */
};

/* Zero or NULL means none, default or no limit. All texts are copied. */
struct http_request {
    const char *url;            /* "https://IP:PORT/path"; http:// only without any TLS field */
    const char *shown_url;      /* for messages, when the URL has a secret; NULL: the URL */
    const char *method;         /* NULL: GET */
    const char *const *headers; /* "Name: value", ended by NULL; or NULL */
    const char *bearer_token;   /* sent in the header Authorization */
    const char *body;
    size_t body_size;
    bool borrows_body;   /* the body is not copied: it must stay valid until done is called or
                          * http_cancel returns */
    bool is_http1;       /* HTTP/1.1: every running call has its own connection */
    const char *resolve; /* "HOST:PORT:ADDRESS,ADDRESS": the addresses of the URL's host, used
                          * instead of DNS; certificates are still checked by name */

    /* How the server is authenticated: by exactly this certificate, whatever its names (TLS 1.3
     * only, for Windlass' own servers); or by these authorities; or, with neither, by this
     * machine's authorities. */
    const char *certificate_pem;
    const char *authorities_pem;
    const char *authorities_file; /* the same, a file that each struct http reads once */
    const char *server_name;      /* the name in SNI and in the certificate; NULL: the URL's */
    bool is_insecure; /* accept any certificate (kubeconfig: insecure-skip-tls-verify) */
    const char *client_certificate_pem, *client_key_pem; /* ours */
    bool refuses_link_local; /* addresses as in address_is_link_local get no connection: DENIED */
    const char *proxy;       /* "http://..", "socks5://.." */

    /* Of requests of one kind only url, body and context differ; each has a body, no shown_url and
     * no server_name. What they have in common is set once. 0: of no kind. */
    int kind;
    enum http_reuse reuse;
    int connect_ms; /* until connected; 0: 300 s, libcurl's default */
    int timeout_ms; /* for the whole call; 0: no limit */
    int silence_ms; /* without a byte of a body received, also while the body is sent; 0: no limit
                     */
    size_t slowest_bytes; /* with silence_ms: fewer than these in that time count as none, too */
    size_t bytes_max;     /* of the collected body; 0: any body is EXHAUSTED */
    bool cuts_complaints; /* a collected body of a status from 300 on is cut there instead */

    http_received
        *received;   /* gets the body when the status is below 300; other bodies are collected */
    http_done *done; /* always set; may start and cancel calls */
    void *context;
};

NODISCARD int http_open(struct http **ret_http, struct error *err);
/* At most this many connections at a time, to each server and in all, and as many are kept open; by
 * default 80, 256 and 16. Before the first call. */
void http_set_connections(struct http *http, int count);
/* Drops running calls without calling done. */
void http_free(struct http *http);
void http_freep(struct http **http);

/* Starts a call. ret_call may be NULL; *ret_call is for http_cancel. May be called from done and
 * received. An error (INVALID: libcurl refuses a field of the request, or server_name is not a host
 * name) means that nothing was started: done is not called. A bad url or client certificate is
 * reported by done. */
NODISCARD int http_start(struct http *http, const struct http_request *request,
                         struct http_call **ret_call, struct error *err);
/* Drops a call without calling done. Not from its own callbacks. */
void http_cancel(struct http *http, struct http_call *call);
size_t http_count(const struct http *http); /* running calls */

/* Runs the event loop once: waits up to timeout_ms (-1: no limit) for events and calls the
 * callbacks. A signal ends the wait early. */
NODISCARD int http_wait(struct http *http, int timeout_ms, struct error *err);
/* From now on http_wait also returns when fd, an eventfd, is written, which need not be read.
 * Before the first call. http_fd must not be used then: it does not show time limits. */
NODISCARD int http_wake_by(struct http *http, int fd, struct error *err);
/* A descriptor for poll: readable when http_wait has work: data of a server, or a time limit of a
 * call is over, so poll needs no time-out for those limits. */
int http_fd(const struct http *http);

/* One blocking call on its own connection; done, context and reuse of the request are ignored. An
 * answer of any status, also 404, is not an error. *ret_body is NUL-terminated; the caller frees.
 * Any thread. */
NODISCARD int http_get(const struct http_request *request, int *ret_status, char **ret_body,
                       struct error *err);
