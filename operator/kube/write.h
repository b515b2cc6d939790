/* write.h: converts a write of operator/cluster.h to a request, and interprets the answer. Pure. */
#pragma once

#include "operator/cluster.h"
#include "operator/kube/client.h"

#define WRITE_FIELD_MANAGER "windlass"

struct write_request {
    const char *verb, *method, *content_type; /* literals */
    char *path, *body;                        /* owned */
    bool is_brief; /* only the metadata is requested in the answer: write_stored */
};

/* Fails with INVALID when the object has no apiVersion, kind or name. */
NODISCARD int write_prepare(enum cluster_verb verb, const json_t *object,
                            struct write_request *ret_request, struct error *err);
void write_request_release(struct write_request *request);

enum write_verdict {
    WRITE_DONE,
    WRITE_FAILED, /* *err is the reason */
    WRITE_AGAIN,  /* retry after a while; *err is the reason in case this was the last try */
};

/* The stored object, as far as it is needed before its event arrives: the metadata of a brief
 * answer together with the object that was written. Owned by the caller. */
json_t *write_stored(const json_t *object, const json_t *answer);

/* Interprets the result of a try. */
enum write_verdict write_judge(enum cluster_verb verb, const struct client_answer *answer,
                               struct error *err);
