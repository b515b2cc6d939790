/* http_call.h: one request as libcurl sees it. http.c runs the loop, http_call.c tells libcurl what
 * http.h promises. For these two alone. */
#pragma once

#include "lib/buffer.h"
#include "lib/net/http.h"

#include <curl/curl.h>

struct http_call {
    struct http *http;
    struct http_call *next, **link; /* in http->calls */
    CURL *curl;
    struct curl_slist *headers, *connect_to, *resolve;
    char *method_and_url; /* for messages; what the request shows of it */
    struct buffer body;
    struct error err; /* why we gave it up ourselves */
    char reason[CURL_ERROR_SIZE];
    http_received *received;
    http_done *done;
    void *context;
    int64_t heard_ms;
    int silence_ms;
    bool is_added; /* to the multi handle */
};

/* Fills a zeroed call but for its place in http's list. On failure http.c frees what is there. */
NODISCARD int http_call_prepare(struct http_call *call, const struct http_request *request,
                                struct error *err);
