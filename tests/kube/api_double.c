// SPDX-License-Identifier: Apache-2.0
#include "tests/kube/api_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WATCHES_MAX = 32768 };

struct watching {
    struct script_connection *connection;
    char plural[64];
    bool by_label;
};

struct api_double {
    struct script_server *server;
    api_hook *hook;
    void *context;
    json_t *kinds;   /* plural -> name -> object: one namespace is enough */
    json_t *deleted; /* plural -> objects as they were deleted, for watches that begin later */
    json_t *counts;
    struct watching *watches;
    int watch_count;
    long long version;
};

static bool is_labelled(const json_t *object) {
    return json_object_get(tree_get(object, "metadata.labels"), "windlass.dev/job") != NULL;
}

static char *line_of(const char *type, const json_t *object) {
    AUTO(text_freep) char *text = json_dumps(object, JSON_COMPACT);
    return x_printf("{\"type\":\"%s\",\"object\":%s}\n", type, text);
}

static void send_to(const struct api_double *api, const char *plural, bool by_label,
                    const char *type, const json_t *object) {
    AUTO(text_freep) char *line = NULL; /* made for the first who watches */
    for (int i = 0; i < api->watch_count; i++) {
        const struct watching *watching = &api->watches[i];
        if (strcmp(watching->plural, plural) == 0 && watching->by_label == by_label &&
            script_is_open(watching->connection)) {
            line = line ? line : line_of(type, object);
            script_send(watching->connection, line);
        }
    }
}

/* before: NULL: the object is new. An object that loses the label is gone for who watches it. */
static void say(const struct api_double *api, const char *type, const char *plural,
                const json_t *object, const json_t *before) {
    send_to(api, plural, false, type, object);
    if (is_labelled(object)) {
        send_to(api, plural, true, type, object);
    } else if (before && is_labelled(before)) {
        send_to(api, plural, true, "DELETED", object);
    }
}

void api_double_bookmark(struct api_double *api) {
    AUTO(tree_freep)
    json_t *object =
        json_pack("{s:{s:o}}", "metadata", "resourceVersion", json_sprintf("%lld", api->version));
    const char *plural;
    json_t *all;
    json_object_foreach(api->kinds, plural, all) {
        send_to(api, plural, false, "BOOKMARK", object);
        send_to(api, plural, true, "BOOKMARK", object);
    }
}

static void set_version(struct api_double *api, json_t *object) {
    json_object_set_new(json_object_get(object, "metadata"), "resourceVersion",
                        json_sprintf("%lld", ++api->version));
}

json_t *api_double_all(struct api_double *api, const char *plural) {
    json_t *all = json_object_get(api->kinds, plural);
    if (!all) {
        all = json_object();
        json_object_set_new(api->kinds, plural, all);
    }
    return all;
}

json_t *api_double_find(struct api_double *api, const char *plural, const char *name) {
    return json_object_get(api_double_all(api, plural), name);
}

void api_double_put(struct api_double *api, const char *plural, json_t *object_new) {
    const char *name = tree_text(object_new, "metadata.name", "");
    json_t *metadata = json_object_get(object_new, "metadata");
    AUTO(tree_freep) json_t *before = json_incref(api_double_find(api, plural, name));
    if (!json_object_get(metadata, "uid")) {
        json_object_set_new(metadata, "uid", json_sprintf("uid-%lld", api->version + 1));
    }
    if (!json_object_get(metadata, "creationTimestamp")) {
        json_object_set_new(metadata, "creationTimestamp", json_string("2026-11-23T00:00:00Z"));
    }
    set_version(api, object_new);
    json_object_set_new(api_double_all(api, plural), name, object_new);
    say(api, before ? "MODIFIED" : "ADDED", plural, object_new, before);
}

static void remember_deleted(struct api_double *api, const char *plural, json_t *object) {
    json_t *deleted = json_object_get(api->deleted, plural);
    if (!deleted) {
        deleted = json_array();
        json_object_set_new(api->deleted, plural, deleted);
    }
    json_array_append(deleted, object);
}

void api_double_delete(struct api_double *api, const char *plural, const char *name) {
    json_t *stored = json_incref(api_double_find(api, plural, name));
    if (stored) {
        set_version(api, stored);
        json_object_del(api_double_all(api, plural), name);
        remember_deleted(api, plural, stored);
        say(api, "DELETED", plural, stored, stored);
    }
    json_decref(stored);
}

void api_double_refuse(const struct api_request *request, int code, const char *reason,
                       const char *message) {
    if (request->is_mute) {
        return;
    }
    AUTO(text_freep)
    char *body = x_printf("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
                          "\"reason\":\"%s\",\"message\":\"%s\",\"code\":%d}",
                          reason, message, code);
    script_reply(request->http->connection, code, "", body);
}

static void reply(const struct api_request *request, int status, const json_t *object) {
    if (request->is_mute) {
        return;
    }
    AUTO(text_freep) char *text = json_dumps(object, JSON_COMPACT);
    script_reply(request->http->connection, status, "", text);
}

/* The only field that tests select by. */
static bool is_selected(const struct api_request *request, const char *name) {
    static const char by_name[] = "fieldSelector=metadata.name%3D";
    const char *at = strstr(request->http->query, by_name);
    size_t length = at ? strcspn(at + sizeof by_name - 1, "&") : 0;
    return !at || (strlen(name) == length && memcmp(at + sizeof by_name - 1, name, length) == 0);
}

static void list(struct api_double *api, const struct api_request *request) {
    bool by_label = strstr(request->http->query, "labelSelector=") != NULL;
    AUTO(tree_freep) json_t *items = json_array();
    const char *name;
    json_t *object;
    json_object_foreach(api_double_all(api, request->plural), name, object) {
        if ((!by_label || is_labelled(object)) && is_selected(request, name)) {
            json_array_append(items, object);
        }
    }
    AUTO(tree_freep)
    json_t *answer = json_pack("{s:s, s:{s:o}, s:O}", "kind", "List", "metadata", "resourceVersion",
                               json_sprintf("%lld", api->version), "items", items);
    reply(request, 200, answer);
}

static void send_if_since(const struct watching *watching, long long since, const char *type,
                          const json_t *object) {
    bool is_later = strtoll(tree_text(object, "metadata.resourceVersion", "0"), NULL, 10) > since;
    if (is_later && (!watching->by_label || is_labelled(object))) {
        AUTO(text_freep) char *line = line_of(type, object);
        script_send(watching->connection, line);
    }
}

/* What changed since that version, deletions first: a later object may have the same name. */
static void send_since(struct api_double *api, const struct watching *watching, long long since) {
    size_t i;
    const char *name;
    json_t *object;
    json_array_foreach(json_object_get(api->deleted, watching->plural), i, object) {
        send_if_since(watching, since, "DELETED", object);
    }
    json_object_foreach(api_double_all(api, watching->plural), name, object) {
        send_if_since(watching, since, "MODIFIED", object);
    }
}

static void watch(struct api_double *api, const struct api_request *request) {
    if (strstr(request->http->query, "sendInitialEvents")) {
        api_double_refuse(request, 422, "Invalid", "sendInitialEvents is not known");
        return;
    }
    if (api->watch_count == WATCHES_MAX) {
        abort();
    }
    struct watching *watching = &api->watches[api->watch_count++];
    watching->connection = request->http->connection;
    watching->by_label = strstr(request->http->query, "labelSelector=") != NULL;
    snprintf(watching->plural, sizeof watching->plural, "%s", request->plural);
    script_stream(watching->connection);
    const char *at = strstr(request->http->query, "resourceVersion=");
    send_since(api, watching, at ? strtoll(at + 16, NULL, 10) : 0);
}

static void create(struct api_double *api, const struct api_request *request) {
    const char *name = tree_text(request->body, "metadata.name", "");
    if (api_double_find(api, request->plural, name)) {
        api_double_refuse(request, 409, "AlreadyExists", "already exists");
        return;
    }
    json_t *object = json_deep_copy(request->body);
    if (strcmp(request->plural, "services") == 0) {
        json_t *spec = json_object_get(object, "spec");
        json_object_set_new(spec, "clusterIP", json_string("127.0.0.1"));
    } else if (strcmp(request->plural, "pods") == 0) {
        json_object_set_new(object, "status", json_pack("{s:s}", "phase", "Pending"));
    }
    json_object_set_new(json_object_get(object, "metadata"), "generation", json_integer(1));
    api_double_put(api, request->plural, object);
    reply(request, 201, object);
}

static bool is_stale(const json_t *stored, const json_t *body) {
    const char *version = tree_text(body, "metadata.resourceVersion", NULL);
    const char *uid = tree_text(body, "metadata.uid", NULL);
    return (version && strcmp(version, tree_text(stored, "metadata.resourceVersion", "")) != 0) ||
           (uid && strcmp(uid, tree_text(stored, "metadata.uid", "")) != 0);
}

/* null removes, as in a merge patch. */
static void merge(json_t *into, const json_t *patch) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)patch, key, value) {
        json_t *old = json_object_get(into, key);
        if (json_is_null(value)) {
            json_object_del(into, key);
        } else if (json_is_object(value) && json_is_object(old)) {
            merge(old, value);
        } else {
            json_object_set_new(into, key, json_deep_copy(value));
        }
    }
}

/* A JSON patch (RFC 6902) of tests, of metadata.resourceVersion and of members of the object, as
 * the same object that a merge patch would be. The caller owns it. */
static json_t *merge_of_json_patch(const json_t *operations) {
    json_t *made = json_pack("{s:{}}", "metadata");
    size_t i;
    json_t *operation;
    json_array_foreach(operations, i, operation) {
        const char *path = tree_text(operation, "path", "");
        bool is_metadata = strncmp(path, "/metadata/", 10) == 0;
        json_object_set(is_metadata ? json_object_get(made, "metadata") : made,
                        path + (is_metadata ? 10 : 1), json_object_get(operation, "value"));
    }
    return made;
}

static void change(struct api_double *api, const struct api_request *request) {
    json_t *stored = api_double_find(api, request->plural, request->name);
    bool is_status = strcmp(request->part, "status") == 0;
    if (!stored && strcmp(request->verb, "patch") == 0 && !is_status) {
        create(api, request);
        return;
    }
    if (!stored) {
        api_double_refuse(request, 404, "NotFound", "not found");
        return;
    }
    AUTO(tree_freep)
    json_t *patch = json_is_array(request->body) ? merge_of_json_patch(request->body)
                                                 : json_deep_copy(request->body);
    if (is_stale(stored, patch)) {
        api_double_refuse(request, 409, "Conflict", "the object has been modified");
        return;
    }
    AUTO(tree_freep) json_t *changed = json_deep_copy(stored);
    bool is_whole = strcmp(request->verb, "update") == 0 || json_is_array(request->body);
    if (is_status && is_whole) {
        json_object_set(changed, "status", json_object_get(patch, "status"));
    } else {
        json_t *metadata = json_object_get(patch, "metadata");
        json_object_del(metadata, "resourceVersion");
        json_object_del(patch, is_status ? "spec" : "status");
        merge(changed, patch);
    }
    if (!json_equal(changed, stored)) {
        api_double_put(api, request->plural, json_incref(changed));
    }
    reply(request, 200, changed);
}

static void remove_one(struct api_double *api, const struct api_request *request) {
    json_t *stored = json_incref(api_double_find(api, request->plural, request->name));
    const char *uid = tree_text(request->body, "preconditions.uid", NULL);
    if (!stored) {
        api_double_refuse(request, 404, "NotFound", "not found");
    } else if (uid && strcmp(uid, tree_text(stored, "metadata.uid", "")) != 0) {
        api_double_refuse(request, 409, "Conflict", "the UID in the precondition does not match");
    } else if (json_array_size(tree_get(stored, "metadata.finalizers")) > 0) {
        if (!tree_get(stored, "metadata.deletionTimestamp")) {
            json_t *copy = json_deep_copy(stored);
            json_object_set_new(json_object_get(copy, "metadata"), "deletionTimestamp",
                                json_string("2026-11-23T00:00:01Z"));
            api_double_put(api, request->plural, copy);
        }
        reply(request, 200, stored);
    } else {
        api_double_delete(api, request->plural, request->name);
        reply(request, 200, stored);
    }
    json_decref(stored);
}

/* /apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/PART; the version does not matter. */
static void read_path(const char *path, struct api_request *request) {
    AUTO(text_freep) char *copy = x_strdup(path);
    char *rest = NULL, *piece = strtok_r(copy, "/", &rest);
    int skip = piece && strcmp(piece, "apis") == 0 ? 2 : 1;
    while (skip-- > 0) {
        strtok_r(NULL, "/", &rest);
    }
    piece = strtok_r(NULL, "/", &rest);
    if (piece && strcmp(piece, "namespaces") == 0) {
        piece = strtok_r(NULL, "/", &rest);
        snprintf(request->namespace, sizeof request->namespace, "%s", piece ? piece : "");
        piece = strtok_r(NULL, "/", &rest);
    }
    snprintf(request->plural, sizeof request->plural, "%s", piece ? piece : "");
    piece = strtok_r(NULL, "/", &rest);
    snprintf(request->name, sizeof request->name, "%s", piece ? piece : "");
    piece = strtok_r(NULL, "/", &rest);
    snprintf(request->part, sizeof request->part, "%s", piece ? piece : "");
}

static const char *verb_of(const struct api_request *request) {
    static const char *const verbs[][2] = {
        {"POST", "create"}, {"PUT", "update"}, {"PATCH", "patch"}, {"DELETE", "delete"}};
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (strcmp(request->http->method, verbs[i][0]) == 0) {
            return verbs[i][1];
        }
    }
    return strstr(request->http->query, "watch=true") ? "watch" : *request->name ? "get" : "list";
}

/* A list of one name is a question for that object: "find". */
static void count(struct api_double *api, const struct api_request *request) {
    bool is_find = strcmp(request->verb, "list") == 0 &&
                   strstr(request->http->query, "fieldSelector=metadata.name");
    AUTO(text_freep)
    char *what = x_printf("%s %s%s%s", is_find ? "find" : request->verb, request->plural,
                          *request->part ? "/" : "", request->part);
    json_object_set_new(api->counts, what,
                        json_integer(json_integer_value(json_object_get(api->counts, what)) + 1));
}

static void get(struct api_double *api, const struct api_request *request) {
    const json_t *stored = api_double_find(api, request->plural, request->name);
    if (stored) {
        reply(request, 200, stored);
    } else {
        api_double_refuse(request, 404, "NotFound", "not found");
    }
}

void api_double_act(struct api_double *api, const struct api_request *request) {
    static const struct {
        const char *verb;
        void (*act)(struct api_double *api, const struct api_request *request);
    } acts[] = {{"watch", watch},   {"list", list},    {"get", get},          {"create", create},
                {"update", change}, {"patch", change}, {"delete", remove_one}};
    for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
        if (strcmp(acts[i].verb, request->verb) == 0) {
            acts[i].act(api, request);
        }
    }
}

static void answer(void *context, const struct script_request *http) {
    struct api_double *api = context;
    struct api_request request = {.http = http};
    read_path(http->path, &request);
    request.verb = verb_of(&request);
    request.body = *http->body ? json_loads(http->body, 0, NULL) : NULL;
    count(api, &request);
    if (!api->hook(api->context, api, &request)) {
        api_double_act(api, &request);
    }
    json_decref(request.body);
}

struct api_double *api_double_new(api_hook *hook, void *context) {
    struct api_double *api = x_calloc(1, sizeof *api);
    api->hook = hook;
    api->context = context;
    api->kinds = json_object();
    api->deleted = json_object();
    api->counts = json_object();
    api->watches = x_calloc(WATCHES_MAX, sizeof *api->watches);
    api->version = 100;
    api->server = script_server_new(answer, api);
    return api;
}

void api_double_free(struct api_double *api) {
    script_server_free(api->server);
    json_decref(api->kinds);
    json_decref(api->deleted);
    json_decref(api->counts);
    free(api->watches);
    free(api);
}

struct script_server *api_double_server(struct api_double *api) {
    return api->server;
}

const json_t *api_double_counts(const struct api_double *api) {
    return api->counts;
}

void api_double_cut_watches(struct api_double *api) {
    for (int i = 0; i < api->watch_count; i++) {
        if (script_is_open(api->watches[i].connection)) {
            script_cut(api->watches[i].connection);
        }
    }
    api->watch_count = 0;
}
