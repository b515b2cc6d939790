/* write.h: converts a write of operator/cluster.h to a request, and interprets the answer. Pure. */
#pragma once

#include "operator/cluster.h"
#include "operator/kube/client.h"

#define WRITE_FIELD_MANAGER "windlass"

struct write_request {
    const char *verb, *method, *content_type; /* literals */
    char *path, *body;                        /* owned */
    bool is_brief; /* only the metadata is requested in the answer; write_stored completes it from
                      the object that was sent */
};

/* Fails with INVALID when the object has no apiVersion, kind or name. */
NODISCARD int write_prepare(enum cluster_verb verb, const json_t *object,
                            struct write_request *ret_request, struct error *err);
void write_request_release(struct write_request *request);

enum write_verdict {
    WRITE_DONE,
    WRITE_FAILED, /* *err is the reason */
    WRITE_AGAIN,  /* retry later; *err is what to report if no tries are left */
};

/* The object as stored, from the object that was written and the answer, which may have only the
 * metadata (is_brief). Owned by the caller. */
json_t *write_stored(const json_t *object, const json_t *answer);

/* What to do after one try of a write. DONE leaves *err clear. */
enum write_verdict write_judge(enum cluster_verb verb, const struct client_answer *answer,
                               struct error *err);
