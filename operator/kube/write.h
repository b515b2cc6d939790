/* write.h: one write of operator/cluster.h -> the request that does it, and what an answer to it
 * means. Pure. */
#pragma once

#include "operator/cluster.h"
#include "operator/kube/client.h"

#define WRITE_FIELD_MANAGER "windlass"

struct write_request {
    const char *verb, *method, *content_type; /* literals */
    char *path, *body;                        /* owned */
    bool is_brief; /* of the answer only the metadata is asked for: write_stored */
};

/* Fails with INVALID when the object has no apiVersion, kind or name. */
NODISCARD int write_prepare(enum cluster_verb verb, const json_t *object,
                            struct write_request *ret_request, struct error *err);
void write_request_release(struct write_request *request);

enum write_verdict {
    WRITE_DONE,
    WRITE_FAILED, /* *err */
    WRITE_AGAIN,  /* after a while; *err, should this have been the last try */
};

/* What was stored, as far as anybody needs it before its event comes: a brief answer's metadata
 * with what was written. Owned by the caller. */
json_t *write_stored(const json_t *object, const json_t *answer);

/* A try is over. */
enum write_verdict write_judge(enum cluster_verb verb, const struct client_answer *answer,
                               struct error *err);
