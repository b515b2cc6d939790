/* cloud_client.h: requests to one account or bucket, several at once, each retried until the
 * response is final: 408, 429, 500, 502, 503, 504 and broken connections 6 times, after the time in
 * Retry-After, else 0.2 s doubling to 8 s, +-50 %; refused credentials once more if there are
 * others by then. HTTP/1.1 over TLS 1.2 or later; connections are reused.
 *
 * A struct cloud_account may be used by any thread, a struct cloud_client by one at a time; neither
 * by a child after fork, which would use its parent's connections. */
#pragma once

#include "agent/store/cloud/cloud_secret.h"
#include "agent/store/store.h"

struct cloud_account;
struct cloud_client;
struct cloud_service;

enum { CLOUD_PARAMETERS_MAX = 6, CLOUD_CODE_MAX = 64, CLOUD_HINT_MAX = 224 };

struct cloud_parameter {
    const char *name, *value; /* not encoded */
};

/* All pointers are borrowed until the call is over. Zero means none or no limit. */
struct cloud_call {
    const char *method;
    const char *name;  /* of the object, below the path's folder; NULL: the container's own */
    const char *shown; /* in messages; NULL: name */
    struct cloud_parameter parameters[CLOUD_PARAMETERS_MAX]; /* in order of their names */
    const char *if_match, *if_none_match;                    /* a token, or "*" */
    const char *nonce;                                       /* kept with a new object (S3) */
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
    char code[CLOUD_CODE_MAX];   /* of the service's error */
    char token[STORE_TOKEN_MAX]; /* ETag without its quotes */
    int64_t size_bytes;          /* of the whole object; -1: unknown */
    bool is_folder;              /* of a hierarchical namespace, or left by a mount: no object */
    bool is_ours;                /* the object was made with `nonce` */
    char hint[CLOUD_HINT_MAX];   /* what the service says beside the code; "" */
    int64_t modified_ns;         /* since 1970; 0: unknown */
    size_t received;             /* bytes in `into` */
    int clock_off_s;             /* how far the service's clock is ahead of ours */
    struct error err;

    struct cloud_client *client; /* private to the client */
    struct cloud_call *next;
    int64_t due_ms, generation;
    int tries, renewals;
};
bool cloud_call_is_good(const struct cloud_call *call);

/* service and place are borrowed. */
struct cloud_account *cloud_account_new(const struct cloud_service *service,
                                        const struct cloud_place *place, const char *shown_path);
const char *cloud_account_path(const struct cloud_account *account); /* as in messages */
void cloud_account_free(struct cloud_account *account); /* no client is out; accepts NULL */

NODISCARD int cloud_client_take(struct cloud_account *account, struct cloud_client **ret_client,
                                struct error *err);
/* Calls that are not over are dropped. Accepts NULL. */
void cloud_client_give(struct cloud_client *client);
void cloud_client_givep(struct cloud_client **client); /* for AUTO */

/* An immediate failure is reported in the call, like any other. */
void cloud_start(struct cloud_client *client, struct cloud_call *call);
/* Waits until at most `most` calls are in progress; 0: until all are over. */
NODISCARD int cloud_wait(struct cloud_client *client, int most, struct error *err);
/* Makes progress without waiting. */
NODISCARD int cloud_look(struct cloud_client *client, struct error *err);

/* Runs all calls, at most 8 at a time; -1 with the first failure; the others are dropped. */
NODISCARD int cloud_run(struct cloud_account *account, struct cloud_call *calls, size_t count,
                        struct error *err);
/* Sets *err for a call that is over and has failed. Returns -1. */
int cloud_refuse(const struct cloud_account *account, const struct cloud_call *call,
                 struct error *err);

/* "Fri, 26 Jun 2015 23:39:12 GMT" or "2015-06-26T23:39:12.000Z" as nanoseconds since 1970, whole
 * seconds, at most what fits (the year 2262); 0: invalid, or NULL. */
int64_t cloud_date_ns(const char *text);
/* An ETag of a listing: cuts the quotes around it, if it has any. */
const char *cloud_without_quotes(char *text);
/* Copies a value of a response, printable and short, since it is shown. */
void cloud_copy_shown(char *copy, size_t room, const char *value, size_t length);

/* ---- cloud_sign.c: the parts that services' requests share; pure ------------------------------
 */

enum { CLOUD_HEADERS_MAX = 12, CLOUD_TEXT_MAX = 64 << 10 };
struct cloud_signed {
    char *url, *shown_url; /* shown_url: without the query */
    char *headers[CLOUD_HEADERS_MAX + 1];
};
void cloud_signed_release(struct cloud_signed *request); /* wipes it; for AUTO, too */

/* To a buffer of CLOUD_TEXT_MAX, which bounded names never fill. */
void cloud_append(struct buffer *buffer, const char *text);
/* Encodes all but RFC 3986's unreserved characters and those in also_plain. */
void cloud_append_encoded(struct buffer *buffer, const char *text, const char *also_plain);
/* The folder and the name of an object, encoded, without a slash before. */
void cloud_append_object(struct buffer *buffer, const struct cloud_place *place, const char *name);
/* The path of a call's URL, which is signed as it is sent. container: NULL: the host names it. The
 * caller frees. */
char *cloud_path(const struct cloud_place *place, const char *container,
                 const struct cloud_call *call);
/* Sets url and shown_url. hidden: more of the query, a secret; "": nothing. */
void cloud_set_url(const struct cloud_place *place, const char *path, const struct cloud_call *call,
                   const char *hidden, struct cloud_signed *request);
/* "name=value&..." of a call, encoded. */
void cloud_append_query(struct buffer *buffer, const struct cloud_call *call);
/* "If-Match: ...", "If-None-Match: ..." and "Range: ..." of a call. with_none false: the service
 * has another header for if_none_match. The room must be enough. */
void cloud_add_conditions(const struct cloud_call *call, bool with_none,
                          struct cloud_signed *request, size_t *count);
/* A token as it is in headers: quoted, but for "*"; "" for NULL. The caller frees. */
char *cloud_quoted(const char *token);
