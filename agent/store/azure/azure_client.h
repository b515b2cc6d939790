/* azure_client.h: requests to one account, several at once, each retried until the response is
 * final: 408, 429, 500, 502, 503, 504 and broken connections 6 times, after the time in
 * Retry-After, else 0.2 s doubling to 8 s, +-50 %; 401 and 403 once more if there is another key,
 * SAS or token by then. HTTP/1.1 over TLS 1.2 or later; connections are reused.
 *
 * A struct azure_account may be used by any thread, a struct azure_client by one at a time; neither
 * by a child after fork, which would use its parent's connections. */
#pragma once

#include "agent/store/azure/azure_secret.h"
#include "agent/store/store.h"

struct azure_account;
struct azure_client;

enum { AZURE_PARAMETERS_MAX = 6, AZURE_CODE_MAX = 64, AZURE_NAME_MAX = 1024 };

struct azure_parameter {
    const char *name, *value; /* not encoded */
};

/* All pointers are borrowed until the call is over. Zero means none or no limit. */
struct azure_call {
    const char *method;
    const char *name;  /* of the object, below the path's folder; NULL: the container's own */
    const char *shown; /* in messages; NULL: name */
    struct azure_parameter parameters[AZURE_PARAMETERS_MAX]; /* in order of their names */
    const char *if_match, *if_none_match;                    /* a token, or "*" */
    const char *blob_type;                                   /* of Put Blob */
    const char *body;                                        /* "" is an empty body */
    size_t body_size;
    int64_t first_byte, range_size; /* range_size 0: no range */
    char *into; /* where the body of a status below 300 goes; EXHAUSTED when it is larger */
    size_t room;
    int accepts;         /* a status that counts as success, like 200 */
    int64_t deadline_ms; /* of clock_monotonic_ms, for all tries; 0: none */

    /* When it is over: a status, or 0 and err. */
    bool is_over;
    int status;
    char code[AZURE_CODE_MAX];   /* of the service's error */
    char token[STORE_TOKEN_MAX]; /* ETag without its quotes */
    int64_t size_bytes;          /* of the whole object; -1: unknown */
    bool is_folder;              /* of a hierarchical namespace, or left by a mount: no object */
    int64_t modified_ns;         /* since 1970; 0: unknown */
    size_t received;             /* bytes in `into` */
    int clock_off_s;             /* how far the service's clock is ahead of ours */
    struct error err;

    struct azure_client *client; /* private to the client */
    struct azure_call *next;
    int64_t due_ms, generation;
    int tries, renewals;
};
bool azure_call_is_good(const struct azure_call *call);

/* place is borrowed. */
struct azure_account *azure_account_new(const struct azure_place *place, const char *shown_path);
void azure_account_free(struct azure_account *account); /* no client is out; accepts NULL */

NODISCARD int azure_client_take(struct azure_account *account, struct azure_client **ret_client,
                                struct error *err);
/* Calls that are not over are dropped. Accepts NULL. */
void azure_client_give(struct azure_client *client);
void azure_client_givep(struct azure_client **client); /* for AUTO */

/* An immediate failure is reported in the call, like any other. */
void azure_start(struct azure_client *client, struct azure_call *call);
/* Waits until at most `most` calls are in progress; 0: until all are over. */
NODISCARD int azure_wait(struct azure_client *client, int most, struct error *err);
/* Makes progress without waiting. */
NODISCARD int azure_look(struct azure_client *client, struct error *err);

/* Runs all calls, at most 8 at a time; -1 with the first failure; the others are dropped. */
NODISCARD int azure_run(struct azure_account *account, struct azure_call *calls, size_t count,
                        struct error *err);
/* Sets *err for a call that is over and has failed. Returns -1. */
int azure_refuse(const struct azure_account *account, const struct azure_call *call,
                 struct error *err);

/* "Fri, 26 Jun 2015 23:39:12 GMT" as nanoseconds since 1970; 0: invalid, or NULL. */
int64_t azure_date_ns(const char *text);

/* ---- azure_sign.c: pure --------------------------------------------------------------------- */

enum { AZURE_HEADERS_MAX = 12 };
struct azure_signed {
    char *url, *shown_url; /* shown_url: without the query */
    char *headers[AZURE_HEADERS_MAX + 1];
};
void azure_sign(const struct azure_place *place, const struct azure_call *call,
                const struct azure_grant *grant, int64_t wall_ms, struct azure_signed *ret_signed);
void azure_signed_release(struct azure_signed *request); /* wipes it; for AUTO, too */
