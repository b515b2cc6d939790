// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/write.h"

#include "operator/kube/rest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Creations are validated strictly: a wrong field in a user's template is refused with its name,
 * where the server supports it (from 1.25 on; older ones ignore the option and drop the field). */
static const struct {
    const char *verb, *method, *content_type, *part, *query;
    bool is_named; /* the path ends with the object's name */
} requests[] = {
    [CLUSTER_CREATE] = {"create", "POST", "application/json", NULL,
                        "?fieldManager=" WRITE_FIELD_MANAGER "&fieldValidation=Strict", false},
    [CLUSTER_APPLY] = {"apply", "PATCH", "application/apply-patch+yaml", NULL,
                       "?force=true&fieldManager=" WRITE_FIELD_MANAGER, true},
    [CLUSTER_STATUS] = {"update", "PATCH", "application/json-patch+json", "status",
                        "?fieldManager=" WRITE_FIELD_MANAGER, true},
    [CLUSTER_DELETE] = {"delete", "DELETE", "application/json", NULL, "", true},
    [CLUSTER_MERGE] = {"patch", "PATCH", "application/merge-patch+json", NULL,
                       "?fieldManager=" WRITE_FIELD_MANAGER, true},
};

/* The object without fields that the server would ignore or, in an apply, record as owned by us. */
static char *body_of_object(const json_t *object) {
    AUTO(tree_freep) json_t *body = json_copy((json_t *)object);
    json_t *metadata = json_copy(json_object_get(object, "metadata"));
    json_object_del(body, "status");
    json_object_del(metadata, "managedFields");
    json_object_set_new(body, "metadata", metadata);
    return tree_compact(body);
}

/* A JSON patch of the status alone: the fields of other managers stay theirs (an update without
 * the spec takes it away from them on 1.20), and no old field has to be named to remove it, as in a
 * merge patch. The resourceVersion makes it a CONFLICT when the object has changed. The uid is
 * tested, because a changed one is ignored. */
static char *body_of_status(const json_t *object) {
    static const struct {
        const char *name, *op, *path;
    } guards[] = {{"uid", "test", "/metadata/uid"},
                  {"resourceVersion", "replace", "/metadata/resourceVersion"}};
    AUTO(tree_freep) json_t *body = json_array();
    for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
        json_t *value = json_object_get(json_object_get(object, "metadata"), guards[i].name);
        if (value) {
            json_array_append_new(body, json_pack("{s:s, s:s, s:O}", "op", guards[i].op, "path",
                                                  guards[i].path, "value", value));
        }
    }
    json_t *status = json_object_get(object, "status");
    json_array_append_new(body, json_pack("{s:s, s:s, s:o}", "op", "add", "path", "/status",
                                          "value", status ? json_incref(status) : json_object()));
    return tree_compact(body);
}

static char *body_of_delete(const json_t *object) {
    AUTO(tree_freep)
    json_t *body = json_pack("{s:s, s:s, s:s}", "apiVersion", "v1", "kind", "DeleteOptions",
                             "propagationPolicy", "Background");
    const char *uid = tree_text(object, "metadata.uid", "");
    if (*uid) {
        json_object_set_new(body, "preconditions", json_pack("{s:s}", "uid", uid));
    }
    return tree_compact(body);
}

static char *make_body(enum cluster_verb verb, const json_t *object) {
    switch (verb) {
    case CLUSTER_CREATE:
    case CLUSTER_APPLY:
    case CLUSTER_MERGE:
        return body_of_object(object);
    case CLUSTER_STATUS:
        return body_of_status(object);
    case CLUSTER_DELETE:
        return body_of_delete(object);
    }
    return NULL;
}

/* Kinds to which the server adds nothing that the next step needs. Half of the answer to a pod
 * repeats the request, and it would be generated and parsed for every pod of a thousand. */
static bool is_brief(enum cluster_verb verb, const char *kind) {
    return verb == CLUSTER_CREATE &&
           (strcmp(kind, "Pod") == 0 || strcmp(kind, "Secret") == 0 ||
            strcmp(kind, "NetworkPolicy") == 0 || strcmp(kind, "Event") == 0);
}

int write_prepare(enum cluster_verb verb, const json_t *object, struct write_request *ret_request,
                  struct error *err) {
    const char *api_version = tree_text(object, "apiVersion", "");
    const char *kind = tree_text(object, "kind", "");
    const char *name = tree_text(object, "metadata.name", "");
    if (!*api_version || !*kind || !*name) {
        return error_set(err, ERROR_INVALID,
                         "%s: an object needs apiVersion, kind and metadata.name",
                         requests[verb].verb);
    }
    struct rest_place place = {.api_version = api_version,
                               .kind = kind,
                               .namespace = tree_text(object, "metadata.namespace", "default"),
                               .name = requests[verb].is_named ? name : NULL,
                               .part = requests[verb].part};
    AUTO(text_freep) char *path = NULL;
    if (rest_path(&place, &path, err) < 0) {
        return error_context(err, "%s %s", requests[verb].verb, kind);
    }
    char *body = make_body(verb, object);
    if (!body) {
        return error_set(err, ERROR_INVALID, "%s %s %s: no JSON", requests[verb].verb, kind, name);
    }
    *ret_request = (struct write_request){.verb = requests[verb].verb,
                                          .method = requests[verb].method,
                                          .content_type = requests[verb].content_type,
                                          .path = x_printf("%s%s", path, requests[verb].query),
                                          .body = body,
                                          .is_brief = is_brief(verb, kind)};
    return 0;
}

json_t *write_stored(const json_t *object, const json_t *answer) {
    if (strcmp(tree_text(answer, "kind", ""), "PartialObjectMetadata") != 0) {
        return json_incref((json_t *)answer);
    }
    json_t *stored = json_copy((json_t *)object);
    json_object_set(stored, "metadata", json_object_get(answer, "metadata"));
    json_object_del(stored, "status");
    return stored;
}

void write_request_release(struct write_request *request) {
    free(request->path);
    free(request->body);
    *request = (struct write_request){0};
}

/* A patch of an object of that name with another uid. The server gives no cause for a test in a
 * JSON patch that fails. */
static bool has_other_uid(enum cluster_verb verb, const struct client_answer *answer) {
    const char *field = tree_text(answer->tree, "details.causes[0].field", "");
    return answer->status == 422 &&
           (verb == CLUSTER_STATUS ? !tree_get(answer->tree, "details.causes[0]")
                                   : strcmp(field, "metadata.uid") == 0);
}

/* A delete where the object of that name has another uid: the intended one is gone. The message
 * changed between 1.20 and 1.36. */
static bool was_another(const struct client_answer *answer) {
    const char *sentence = tree_text(answer->tree, "message", "");
    return answer->status == 409 &&
           (strstr(sentence, "UID in precondition") || strstr(sentence, "UID in the precondition"));
}

/* An update of a deleted object, which 1.20 reports as one with another uid: none. */
static bool was_none(const struct client_answer *answer) {
    return answer->status == 409 &&
           text_ends(tree_text(answer->tree, "message", ""), "UID in object meta: ");
}

/* A creation with a 409 that is not about its name: a quota's count was changed by another one. */
static bool met_another_writer(enum cluster_verb verb, const struct client_answer *answer) {
    return verb == CLUSTER_CREATE && answer->status == 409 &&
           strcmp(tree_text(answer->tree, "reason", ""), "Conflict") == 0;
}

/* A webhook or a policy of the cluster said no, with whatever code: a webhook that gives none
 * answers 400, a ValidatingAdmissionPolicy 422. As with a quota the object is not wrong in itself:
 * what they refuse may change. */
static bool was_denied_by_admission(const struct client_answer *answer) {
    static const char *const sentences[][2] = {
        {"admission webhook \"", "\" denied the request"},
        {"ValidatingAdmissionPolicy '", " denied request"},
    };
    const char *message = tree_text(answer->tree, "message", "");
    bool is_said = false;
    for (size_t i = 0; i < ARRAY_LEN(sentences) && !is_said; i++) {
        const char *begin = strstr(message, sentences[i][0]);
        is_said = begin && strstr(begin, sentences[i][1]);
    }
    return is_said && answer->status >= 400 && answer->status < 500 && answer->status != 429;
}

static bool may_help_to_wait(enum cluster_verb verb, const struct client_answer *answer) {
    switch (answer->err->kind) {
    case ERROR_BUSY:
    case ERROR_UNAVAILABLE:
    case ERROR_TIMEOUT:
        return true;
    case ERROR_CONFLICT: /* a delete without a resourceVersion conflicted with another writer */
        return verb == CLUSTER_DELETE;
    default:
        return false;
    }
}

enum write_verdict write_judge(enum cluster_verb verb, const struct client_answer *answer,
                               struct error *err) {
    if (!answer->err) {
        return WRITE_DONE;
    }
    *err = *answer->err;
    if (was_denied_by_admission(answer)) {
        err->kind = ERROR_DENIED;
        return WRITE_FAILED;
    }
    if (verb == CLUSTER_DELETE && (err->kind == ERROR_NOT_FOUND || was_another(answer))) {
        error_clear(err);
        return WRITE_DONE;
    }
    bool is_patch = verb == CLUSTER_APPLY || verb == CLUSTER_MERGE || verb == CLUSTER_STATUS;
    if (is_patch && has_other_uid(verb, answer)) {
        err->kind = ERROR_CONFLICT;
        return WRITE_FAILED;
    }
    if (verb == CLUSTER_STATUS && was_none(answer)) {
        err->kind = ERROR_NOT_FOUND;
    }
    if (met_another_writer(verb, answer)) {
        err->kind = ERROR_BUSY;
        return WRITE_AGAIN;
    }
    return may_help_to_wait(verb, answer) ? WRITE_AGAIN : WRITE_FAILED;
}
