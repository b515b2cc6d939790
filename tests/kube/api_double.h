/* api_double.h: what an API server does with objects, behind script_server.h: it stores, refuses
 * taken names and stale versions, notifies watches, and knows no kind. A hook may answer instead,
 * and every request is counted. For states in which a real server cannot be put for ten minutes. */
#pragma once

#include "lib/tree.h"
#include "tests/kube/script_server.h"

struct api_double;

/* What a request is about. */
struct api_request {
    const struct script_request *http;
    const char *verb; /* "list", "watch", "get", "create", "patch", "update", "delete" */
    char plural[64], namespace[64], name[256], part[32]; /* "" where absent */
    json_t *body;                                        /* NULL: none */
    bool is_mute;                                        /* api_double_act gives no answer */
};

/* Returns true when it has answered, or will never. */
typedef bool api_hook(void *context, struct api_double *api, const struct api_request *request);

struct api_double *api_double_new(api_hook *hook, void *context);
void api_double_free(struct api_double *api);
struct script_server *api_double_server(struct api_double *api);

/* Stores an object, as if somebody had: new or changed. The reference is taken. */
void api_double_put(struct api_double *api, const char *plural, json_t *object_new);
/* It is gone at once. */
void api_double_delete(struct api_double *api, const char *plural, const char *name);
/* Borrowed; NULL: there is none. */
json_t *api_double_find(struct api_double *api, const char *plural, const char *name);
/* All objects of a kind: name -> object; borrowed. */
json_t *api_double_all(struct api_double *api, const char *plural);
/* Sends every watch a bookmark, as servers do once a minute. */
void api_double_bookmark(struct api_double *api);
void api_double_cut_watches(struct api_double *api);

/* Requests so far, by "verb plural": {"create pods": 3}; borrowed. */
const json_t *api_double_counts(const struct api_double *api);

/* Does what is asked, as without a hook. */
void api_double_act(struct api_double *api, const struct api_request *request);

/* An answer with a Status. */
void api_double_refuse(const struct api_request *request, int code, const char *reason,
                       const char *message);
