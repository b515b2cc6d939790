// SPDX-License-Identifier: Apache-2.0
#include "operator/control/queries.h"

#include "operator/control/gone.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct asked {
    struct query query;
    struct queries *queries;
};

struct queries {
    struct cluster *cluster;
    queries_answer *answer;
    void *context;
    void *asked;       /* tsearch tree of struct asked, by key */
    struct gone *gone; /* of what is looked for */
};

static void asked_free(void *opaque) {
    struct asked *asked = opaque;
    json_decref(asked->query.like);
    free(asked->query.key);
    free(asked);
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct asked *)a)->query.key, ((const struct asked *)b)->query.key);
}

struct queries *queries_new(struct cluster *cluster, queries_answer *answer, void *context) {
    struct queries *queries = x_calloc(1, sizeof *queries);
    *queries = (struct queries){
        .cluster = cluster, .answer = answer, .context = context, .gone = gone_new()};
    return queries;
}

void queries_free(struct queries *queries) {
    if (queries) {
        tdestroy(queries->asked, asked_free);
        gone_free(queries->gone);
        free(queries);
    }
}

void queries_note_deleted(struct queries *queries, const json_t *object) {
    gone_note(queries->gone, object);
}

/* NULL when there is none; owned by the caller. */
static json_t *take_object(struct queries *queries, const json_t *like, const json_t *list) {
    json_t *object = json_copy(tree_get(list, "items[0]"));
    if (gone_end(queries->gone, like, object)) {
        json_decref(TAKE(object));
    }
    if (object) { /* items of a list lack them */
        json_object_set(object, "apiVersion", json_object_get(like, "apiVersion"));
        json_object_set(object, "kind", json_object_get(like, "kind"));
    }
    return object;
}

static void on_answer(void *context, const json_t *stored, const struct error *err) {
    struct asked *asked = context;
    struct queries *queries = asked->queries;
    const json_t *like = asked->query.like;
    AUTO(tree_freep) json_t *object = like ? take_object(queries, like, stored) : NULL;
    tdelete(asked, &queries->asked, by_key);
    queries->answer(queries->context, &asked->query, stored, object, err);
    asked_free(asked);
}

bool queries_ask(struct queries *queries, const char *key, size_t kind, const json_t *like,
                 const char *fields) {
    struct asked *asked = x_calloc(1, sizeof *asked);
    *asked =
        (struct asked){{x_strdup(key), kind, fields ? NULL : json_incref((json_t *)like)}, queries};
    if (tfind(asked, &queries->asked, by_key)) {
        asked_free(asked);
        return false;
    }
    AUTO(text_freep)
    char *by_name =
        fields ? NULL : x_printf("metadata.name=%s", tree_text(like, "metadata.name", ""));
    if (!fields) {
        gone_begin(queries->gone, like);
    }
    tsearch(asked, &queries->asked, by_key);
    queries->cluster->ops->list(queries->cluster, like, fields ? fields : by_name, on_answer,
                                asked);
    return true;
}
