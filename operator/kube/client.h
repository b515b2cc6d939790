/* client.h: one request to the API server -> one answer or one error. Credentials are put on, a
 * refused token is replaced and the request sent once more; nothing else is repeated here. */
#pragma once

#include "operator/kube/credential.h"

enum {
    CLIENT_CONNECT_MS = 10000,
    CLIENT_TIMEOUT_MS = 30000,    /* of a call, unless it says another */
    CLIENT_ANSWER_MAX = 16 << 20, /* bytes of an answer that is collected */
    CLIENT_OBJECT_MAX = 8 << 20,  /* bytes of one object in a stream */
};

struct client;
struct client_call;

struct client_answer {
    int status;        /* 0: none came */
    int retry_after_s; /* 0: the server does not say */
    bool is_sent;      /* false: the server cannot have seen the request */
    const json_t
        *tree; /* what was answered, borrowed: an object, or a Status that tells what is
                  wrong, without managedFields; NULL when it came in pieces or is no JSON */
    const struct error *err; /* NULL: the status is below 300 */
};
typedef void client_done(void *context, const struct client_answer *answer);

struct client_request {
    const char *verb;         /* as Kubernetes counts it: "list"; a literal */
    const char *method;       /* NULL: GET */
    const char *path;         /* "/api/v1/pods?limit=500" */
    const char *content_type; /* of the body; NULL: application/json */
    char *body_new;           /* NUL-terminated, becomes the client's; NULL: none */
    int timeout_ms;           /* 0: CLIENT_TIMEOUT_MS, -1: none */
    int silence_ms;           /* 0: none */
    bool is_text;             /* the answer is no JSON (a pod's log) */
    bool is_brief; /* its metadata is enough: PartialObjectMetadata, where the server can */
    http_received *received; /* the body of a good answer in pieces */
    client_done *done;
    void *context;
};

/* config and loop must live on. */
NODISCARD int client_open(const struct config *config, struct loop *loop,
                          struct client **ret_client, struct error *err);
void client_free(struct client *client); /* drops the calls under way without their done */
void client_freep(struct client **client);

/* done comes out of a later loop_wait, always. The call is valid until then, or client_cancel. */
struct client_call *client_start(struct client *client, const struct client_request *request);
void client_cancel(struct client *client, struct client_call *call);

/* An answer of status 300 or more -> an error with the server's own sentence: DENIED (401, 403),
 * NOT_FOUND, CONFLICT (409), GONE (410), INVALID (400, 413, 422), BUSY (429), TIMEOUT (408, 504),
 * UNSUPPORTED (405, 406, 415), UNAVAILABLE (all others). Always -1. */
int client_error(int status, const json_t *tree, struct error *err);
