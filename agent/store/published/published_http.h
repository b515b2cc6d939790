/* published_http.h: GET over TLS with redirects and ranges, for published.c. Blocks; one thread. */
#pragma once

#include "agent/store/cloud/cloud_place.h"
#include "lib/net/http.h"

struct published_client;

NODISCARD int published_client_open(struct published_client **ret_client, struct error *err);
void published_client_freep(struct published_client **client);

struct published_question {
    const char *url;           /* https:// */
    const char *method;        /* NULL: GET */
    const char *authorization; /* sent to the URL's host and port alone; NULL: none */
    const char *accept;        /* NULL: anything */
    int64_t offset;            /* from this byte on; 0: all */
    const char *etag;          /* of this state of the file only, else 412; NULL: any */
    http_received *received;   /* NULL: the body is collected, up to bytes_max */
    void *context;
    size_t bytes_max;
};
struct published_answer {
    int status;      /* of the last redirect's target */
    char *body;      /* NUL-terminated */
    size_t size;     /* of body */
    char *etag;      /* a strong one; NULL: none */
    char *challenge; /* WWW-Authenticate; NULL: none */
    char *location;
};
void published_answer_release(struct published_answer *answer); /* accepts a zeroed one */

/* INVALID: not https://, or more than 5 redirects; DENIED: an address or certificate is refused;
 * else http.h's. *ret_answer is zeroed before. */
NODISCARD int published_ask(struct published_client *client,
                            const struct published_question *question,
                            struct published_answer *ret_answer, struct error *err);
