/* client.h: sends single requests to the API server, with our credentials. If the server refuses a
 * token, the client gets a new one and sends the request once more. It repeats nothing else:
 * write.c and watch.c decide about other errors. */
#pragma once

#include "operator/kube/credential.h"
#include "operator/kube/server_warnings.h"

enum {
    CLIENT_CONNECT_MS = 10000,
    CLIENT_TIMEOUT_MS = 30000,    /* of a call, unless the request sets another */
    CLIENT_ANSWER_MAX = 16 << 20, /* bytes of an answer that is collected as a whole */
    CLIENT_OBJECT_MAX = 8 << 20,  /* bytes of one object in a stream */
};

struct client;
struct client_call;

struct client_answer {
    int status;        /* 0: no answer */
    int retry_after_s; /* the header Retry-After; 0: none */
    bool is_sent;      /* false: the server cannot have seen the request */
    /* The answer, borrowed: an object, or a Status with the error; without managedFields. NULL:
     * it came in pieces or is not JSON. */
    const json_t *tree;
    const struct error *err; /* NULL: the status is below 300 */
};
typedef void client_done(void *context, const struct client_answer *answer);

struct client_request {
    const char *verb;         /* the verb in Kubernetes' metrics: "list"; a literal */
    const char *method;       /* NULL: GET */
    const char *path;         /* "/api/v1/pods?limit=500" */
    const char *content_type; /* of the body; NULL: application/json */
    const char *header;       /* one more, "Name: value"; copied; NULL: none */
    char *body_new;           /* NUL-terminated; the client frees it; NULL: none */
    const char *body;         /* instead of that: stays valid until done or client_cancel */
    int timeout_ms;           /* 0: CLIENT_TIMEOUT_MS, -1: none */
    int silence_ms;           /* fails when no byte arrives for this long; 0: no limit */
    bool is_text;             /* the answer is not JSON (a pod's log) */
    bool is_brief; /* only the metadata is needed: PartialObjectMetadata, if the server supports it
                    */
    http_received *received; /* gets the body of a successful answer in pieces; NULL: as `tree` */
    client_done *done;
    void *context;
};

/* config and loop must outlive the client. */
NODISCARD int client_open(const struct config *config, struct loop *loop,
                          struct client **ret_client, struct error *err);
void client_free(struct client *client); /* drops the calls under way without calling their done */
void client_freep(struct client **client);

/* each gets each warning of the server once (server_warnings.h). Without it they are ignored. */
void client_on_warning(struct client *client, server_warnings_each *each, void *context);

/* done is always called, from a later loop_wait. The call is valid until then, or until
 * client_cancel. */
struct client_call *client_start(struct client *client, const struct client_request *request);
void client_cancel(struct client *client, struct client_call *call);

/* Sets *err for an answer of status 300 or more, with the server's message: DENIED (401, 403),
 * NOT_FOUND, CONFLICT (409), GONE (410), INVALID (400, 413, 422), BUSY (429), TIMEOUT (408, 504),
 * UNSUPPORTED (405, 406, 415), UNAVAILABLE (all others). Always returns -1. */
int client_error(int status, const json_t *tree, struct error *err);

/* Whether an answer says that the path itself is not served: neither the kind nor the version is
 * known. A Status that names an object says that only this object is missing. */
bool client_is_unserved(const struct client_answer *answer);
