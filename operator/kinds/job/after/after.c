// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/after/after.h"

#include "operator/kinds/job/after/after_reference.h"
#include "operator/kinds/job/after/after_volumes.h"
#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/parameters/parameters.h"

#include <stdio.h>
#include <string.h>

/* ---- one of the others ---- */

const char *after_output(const json_t *job) {
    const char *trained = tree_text(job, "spec.trainer.output.path", NULL);
    const json_t *outputs = tree_get(job, "spec.outputs");
    bool is_only = json_is_array(outputs) && json_array_size(outputs) == 1;
    const char *only = is_only ? tree_text(json_array_get(outputs, 0), "path", NULL) : NULL;
    return trained ? trained : tree_text(job, "spec.output.path", only);
}

char *after_model(const json_t *job) {
    const char *trained = tree_text(job, "spec.trainer.output.path", NULL);
    return trained ? x_printf("%s/model.onnx", trained) : NULL;
}

static const char *kind_of(const json_t *job) {
    return tree_text(job, "kind", "");
}

static const char *name_of(const json_t *job) {
    return tree_text(job, "metadata.name", "");
}

static bool names(const json_t *entry, const json_t *job) {
    const char *kind = tree_text(entry, "kind", NULL);
    return strcmp(name_of(job), tree_text(entry, "name", "")) == 0 &&
           (!kind || strcmp(kind_of(job), kind) == 0);
}

bool after_is_named(const json_t *object, const json_t *job) {
    const json_t *entries = tree_get(object, "spec.after");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        if (names(json_array_get(entries, i), job)) {
            return true;
        }
    }
    return false;
}

/* The first job that an entry of spec.after names; NULL: none. Borrowed. */
static const json_t *find(const json_t *others, const json_t *entry, size_t *ret_count) {
    const json_t *first = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < json_array_size(others); i++) {
        const json_t *one = json_array_get(others, i);
        if (names(entry, one)) {
            first = first ? first : one;
            ++*ret_count;
        }
    }
    return first;
}

/* It makes runs until it is deleted. */
static bool is_series(const json_t *job) {
    return tree_get(job, "spec.schedule") || tree_get(job, "spec.trigger") ||
           strcmp(tree_text(job, "spec.rerun", ""), "OnChange") == 0;
}

/* An end counts for the generation that it is of. */
static bool is_current(const json_t *job) {
    return tree_integer(job, "metadata.generation", 0) ==
           tree_integer(job, "status.observedGeneration", -1);
}

/* How far it is, in `text`. */
static enum after_state look_at(const json_t *job, char *text, size_t size) {
    const json_t *summary = conditions_find(job, "Succeeded");
    const char *status = tree_text(summary, "status", "Unknown");
    const char *kind = kind_of(job), *name = name_of(job);
    if (tree_get(job, "metadata.deletionTimestamp")) {
        snprintf(text, size, "%s %.63s is being deleted", kind, name);
        return AFTER_WAITS;
    }
    if (conditions_is_finished(job) && strcmp(status, "False") == 0) {
        snprintf(text, size, "%s %.63s has failed: %.63s", kind, name,
                 tree_text(summary, "reason", ""));
        return AFTER_FAILED;
    }
    if (strcmp(status, "True") == 0 && is_current(job)) {
        return AFTER_DONE;
    }
    if (is_series(job)) {
        snprintf(text, size, "%s %.63s makes runs until it is deleted; take it out of spec.after",
                 kind, name);
        return AFTER_UNCLEAR;
    }
    snprintf(text, size, "%s %.63s is %.63s", kind, name, tree_text(summary, "reason", "Pending"));
    return AFTER_WAITS;
}

bool after_has_ended(const json_t *job) {
    char ignored[256];
    enum after_state state = look_at(job, ignored, sizeof ignored);
    return state == AFTER_DONE || state == AFTER_FAILED;
}

static enum after_state look_for(const json_t *others, const json_t *entry, char *text,
                                 size_t size) {
    size_t count = 0;
    const json_t *job = find(others, entry, &count);
    const char *name = tree_text(entry, "name", "");
    if (!job) {
        snprintf(text, size, "%s %.63s does not exist", tree_text(entry, "kind", "job"), name);
        return AFTER_WAITS;
    }
    if (count > 1) {
        snprintf(text, size, "%zu jobs are called %.63s; give the kind in spec.after", count, name);
        return AFTER_UNCLEAR;
    }
    return look_at(job, text, size);
}

/* ---- circles ---- */

struct walk {
    const json_t *others, *start;
    json_t *seen; /* {kind/name: true} */
    json_t *path; /* of names */
};

static bool leads_back(struct walk *walk, const json_t *from);

static bool step(struct walk *walk, const json_t *to) {
    AUTO(text_freep) char *key = x_printf("%s/%s", kind_of(to), name_of(to));
    bool is_start = strcmp(kind_of(to), kind_of(walk->start)) == 0 &&
                    strcmp(name_of(to), name_of(walk->start)) == 0;
    json_array_append_new(walk->path, json_string(name_of(to)));
    if (is_start) {
        return true;
    }
    if (!json_object_get(walk->seen, key) && json_object_size(walk->seen) < AFTER_SEEN_MAX) {
        json_object_set_new(walk->seen, key, json_true());
        if (leads_back(walk, to)) {
            return true;
        }
    }
    json_array_remove(walk->path, json_array_size(walk->path) - 1);
    return false;
}

/* Whether what `from` waits for waits for the start; walk->path then has the way. */
static bool leads_back(struct walk *walk, const json_t *from) {
    const json_t *entries = tree_get(from, "spec.after");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        size_t count = 0;
        const json_t *to = find(walk->others, json_array_get(entries, i), &count);
        if (to && !conditions_is_finished(to) && step(walk, to)) {
            return true;
        }
    }
    return false;
}

static bool find_circle(const json_t *object, const json_t *others, struct after *after) {
    AUTO(tree_freep) json_t *seen = json_object();
    AUTO(tree_freep) json_t *path = json_array();
    AUTO(tree_freep) json_t *all = json_copy((json_t *)others);
    all = all ? all : json_array();
    json_array_append(all, (json_t *)object);
    struct walk walk = {all, object, seen, path};
    if (!leads_back(&walk, object)) {
        return false;
    }
    size_t at = (size_t)snprintf(after->message, sizeof after->message,
                                 "spec.after goes in a circle: %.63s", name_of(object));
    for (size_t i = 0; i < json_array_size(path) && at < sizeof after->message; i++) {
        at += (size_t)snprintf(after->message + at, sizeof after->message - at, ", %.63s",
                               json_string_value(json_array_get(path, i)));
    }
    at = MIN(at, sizeof after->message - sizeof "; take one of them out");
    snprintf(after->message + at, sizeof after->message - at, "; take one of them out");
    after->state = AFTER_CIRCLE;
    return true;
}

/* ---- all of them ---- */

/* What is kept of the others once all have succeeded. */
json_t *after_values(const json_t *object, const json_t *others) {
    const json_t *entries = tree_get(object, "spec.after");
    json_t *values = json_array();
    for (size_t i = 0; i < json_array_size(entries); i++) {
        size_t count = 0;
        const json_t *other = find(others, json_array_get(entries, i), &count);
        AUTO(tree_freep) json_t *filled = parameters_fill(other);
        const json_t *job = filled ? filled : other;
        AUTO(text_freep) char *model = after_model(job);
        json_array_append_new(values,
                              json_pack("{s:s, s:s, s:s*, s:s*}", "name", name_of(job), "kind",
                                        kind_of(job), "output", after_output(job), "model", model));
    }
    return values;
}

/* The message has the first of the worst; of those that are waited for it has all. */
static void add(struct after *after, enum after_state state, const char *text) {
    if (state == AFTER_DONE || state < after->state) {
        return;
    }
    size_t at = state > after->state ? 0 : strlen(after->message);
    if (at > 0 && state != AFTER_WAITS) {
        return;
    }
    after->state = state;
    snprintf(after->message + at, sizeof after->message - at, "%s%s", at > 0 ? ", " : "", text);
}

static int check_volumes(const json_t *object, const json_t *others, struct error *err) {
    const json_t *entries = tree_get(object, "spec.after");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        size_t count = 0;
        const json_t *job = find(others, json_array_get(entries, i), &count);
        if (after_volumes_check(object, job, after_output(job), err) < 0) {
            return -1;
        }
    }
    return 0;
}

void after_judge(const json_t *object, const json_t *others, struct after *ret_after) {
    const json_t *entries = tree_get(object, "spec.after");
    *ret_after = (struct after){.state = AFTER_DONE};
    if (find_circle(object, others, ret_after)) {
        return;
    }
    for (size_t i = 0; i < json_array_size(entries); i++) {
        char text[256] = "";
        add(ret_after, look_for(others, json_array_get(entries, i), text, sizeof text), text);
    }
    if (ret_after->state != AFTER_DONE) {
        return;
    }
    struct error err = {0};
    ret_after->values = after_values(object, others);
    if (after_reference_check_values(object, ret_after->values, &err) < 0 ||
        check_volumes(object, others, &err) < 0) {
        after_release(ret_after);
        ret_after->state = AFTER_FAILED;
        snprintf(ret_after->message, sizeof ret_after->message, "%.590s", err.text);
    }
}

void after_release(struct after *after) {
    json_decref(TAKE(after->values));
}

bool after_is_open(const json_t *object) {
    const json_t *entries = tree_get(object, "spec.after");
    const json_t *known = tree_get(object, "status.after");
    if (json_array_size(entries) == 0 || conditions_is_finished(object)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const json_t *value = tree_find(known, "name", tree_text(entry, "name", ""));
        const char *kind = tree_text(entry, "kind", NULL);
        if (!value || (kind && strcmp(kind, tree_text(value, "kind", "")) != 0)) {
            return true;
        }
    }
    return false;
}
