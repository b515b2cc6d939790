/* http.h: HTTPS requests to servers whose certificate we hold. The only user of libcurl.
 * Thread-safe; blocking, with a deadline for everything. */
#pragma once

#include "lib/error.h"

struct http_request {
    const char *url;             /* "https://IP:PORT/path" */
    const char *certificate_pem; /* the one certificate the server must show; its names are not
                                    compared: the address is a Service's or this machine's */
    int timeout_ms;              /* for the whole request */
    size_t max_bytes;            /* of the answer's body */
};

/* Follows no redirect, uses no proxy, speaks TLS 1.3 only. *ret_status is the HTTP status,
 * *ret_body NUL-terminated and the caller's. Fails with UNAVAILABLE (cannot connect), TIMEOUT,
 * DENIED (another certificate) or EXHAUSTED (a larger body); an HTTP status of 400 or more is no
 * failure of this function. */
NODISCARD int http_get(const struct http_request *request, int *ret_status, char **ret_body,
                       struct error *err);
