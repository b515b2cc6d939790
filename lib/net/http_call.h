/* http_call.h: one request of http.h as a libcurl handle. http_call.c sets its options, http.c runs
 * the loop. Private to these two. */
#pragma once

#include "lib/buffer.h"
#include "lib/net/http.h"
#include "lib/net/http_curl.h"
#include "lib/net/http_sockets.h"

struct http_call {
    struct http *http;
    struct http_sockets *sockets;   /* of http */
    struct http_call *next, **link; /* in http->calls */
    CURL *curl;
    struct curl_slist *headers, *connect_to, *resolve;
    char *method_and_url; /* for messages, with shown_url */
    struct buffer body;
    struct error err; /* set when we end the call ourselves */
    char reason[CURL_ERROR_SIZE];
    char refused[46]; /* an address that nothing is sent to; "": none */
    http_received *received;
    http_done *done;
    void *context;
    int64_t heard_ms;    /* when silence_ms began: the start, or when slowest_bytes had come */
    size_t header_bytes; /* so far, with those behind a body */
    int silence_ms;
    size_t slowest_bytes, heard_bytes; /* heard_bytes: since heard_ms */
    bool cuts_complaints;
    bool is_added; /* to the multi handle */
    int kind;      /* of the request; 0: it is not used again */
};

/* Fills a zeroed call, except http, sockets and its place in the list. On failure http.c frees it.
 */
NODISCARD int http_call_prepare(struct http_call *call, const struct http_request *request,
                                struct error *err);
/* The same of a call that has ended, of a request of its kind. False: libcurl cannot. */
NODISCARD bool http_call_prepare_again(struct http_call *call, const struct http_request *request);
