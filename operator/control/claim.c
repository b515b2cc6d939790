// SPDX-License-Identifier: Apache-2.0
#include "operator/control/claim.h"

#include "operator/cluster.h"
#include "operator/object.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *map, const char *name) {
    return json_string_value(json_object_get(tree_get(object, map), name));
}

static bool equal(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

static const json_t *controller_of(const json_t *object) {
    const json_t *owners = tree_get(object, "metadata.ownerReferences");
    for (size_t i = 0; i < json_array_size(owners); i++) {
        if (tree_bool(json_array_get(owners, i), "controller", false)) {
            return json_array_get(owners, i);
        }
    }
    return NULL;
}

/* The first of our texts in that map of the wanted object that is not the same there; NULL: none.
 */
static const char *find_other(const json_t *there, const json_t *wanted, const char *map) {
    const char *name;
    json_t *value;
    json_object_foreach(tree_get(wanted, map), name, value) {
        if (text_starts(name, "windlass.dev/") &&
            !equal(text_of(there, map, name), json_string_value(value))) {
            return name;
        }
    }
    return NULL;
}

/* By our labels the resource finds it, and knows which place it has. */
static bool has_labels(const json_t *there, const json_t *wanted, const json_t *owner) {
    return !find_other(there, wanted, "metadata.labels") &&
           equal(text_of(there, "metadata.labels", LABEL_JOB),
                 tree_text(owner, "metadata.name", NULL));
}

const char *claim_lacks(const json_t *stored, const json_t *wanted) {
    const json_t *has = controller_of(stored), *ours = controller_of(wanted);
    if (has && ours && !equal(tree_text(has, "uid", NULL), tree_text(ours, "uid", NULL))) {
        return "ownerReferences";
    }
    const char *label = find_other(stored, wanted, "metadata.labels");
    return label ? label : find_other(stored, wanted, "metadata.annotations");
}

/* It runs, or may run. */
static bool may_run(const json_t *there) {
    const char *phase = tree_text(there, "status.phase", "");
    return text_of(there, "metadata.annotations", ANNOTATION_ALONE) &&
           strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0;
}

/* What an object of ours owns has no controller: a Secret, which goes with its Service. */
static bool has_same_owner(const json_t *there, const json_t *wanted) {
    const char *uid = tree_text(wanted, "metadata.ownerReferences[0].uid", NULL);
    return uid && object_is_owned_by(there, uid);
}

/* It belongs to the object that the wanted one's owner has replaced, and goes with that. */
static bool is_of_earlier_owner(const json_t *there, const json_t *wanted) {
    const char *kind = tree_text(wanted, "metadata.ownerReferences[0].kind", NULL);
    const char *name = tree_text(wanted, "metadata.ownerReferences[0].name", NULL);
    return json_array_size(tree_get(there, "metadata.ownerReferences")) == 1 &&
           equal(tree_text(there, "metadata.ownerReferences[0].kind", NULL), kind) &&
           equal(tree_text(there, "metadata.ownerReferences[0].name", NULL), name);
}

static enum claim controlled_claim(const json_t *there, const json_t *controller,
                                   const json_t *wanted, const json_t *owner) {
    if (equal(tree_text(controller, "uid", NULL), tree_text(owner, "metadata.uid", NULL))) {
        if (has_labels(there, wanted, owner)) {
            return CLAIM_OURS;
        }
        if (may_run(there)) {
            return CLAIM_HELD;
        }
        return tree_get(there, "metadata.deletionTimestamp") ? CLAIM_FOREIGN : CLAIM_RELEASE;
    }
    bool is_earlier =
        equal(tree_text(controller, "kind", NULL), tree_text(owner, "kind", NULL)) &&
        equal(tree_text(controller, "name", NULL), tree_text(owner, "metadata.name", NULL));
    return is_earlier ? CLAIM_LEAVING : CLAIM_FOREIGN;
}

enum claim claim_judge(const json_t *there, const json_t *wanted, const json_t *owner) {
    if (!there) {
        return CLAIM_NONE;
    }
    const json_t *controller = controller_of(there);
    if (controller) {
        return controlled_claim(there, controller, wanted, owner);
    }
    if (has_same_owner(there, wanted)) {
        return CLAIM_OURS;
    }
    bool is_of_job = has_labels(there, wanted, owner);
    if (is_of_job && is_of_earlier_owner(there, wanted)) {
        return CLAIM_LEAVING;
    }
    bool is_made_for = equal(text_of(there, "metadata.annotations", ANNOTATION_UID),
                             tree_text(owner, "metadata.uid", NULL));
    if (is_of_job && is_made_for && !tree_get(there, "metadata.deletionTimestamp")) {
        return CLAIM_ADOPT;
    }
    return is_of_job && may_run(there) ? CLAIM_HELD : CLAIM_FOREIGN;
}

/* ---- changes ---- */

/* Of this version of the object alone. */
static json_t *change_of(const json_t *there) {
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s*, s:s*}}", "apiVersion",
                     tree_text(there, "apiVersion", ""), "kind", tree_text(there, "kind", ""),
                     "metadata", "name", tree_text(there, "metadata.name", ""), "namespace",
                     tree_text(there, "metadata.namespace", "default"), "uid",
                     tree_text(there, "metadata.uid", NULL), "resourceVersion",
                     tree_text(there, "metadata.resourceVersion", NULL));
}

static json_t *change_of_owners(const json_t *there, json_t *owners_new) {
    json_t *change = change_of(there);
    json_object_set_new(json_object_get(change, "metadata"), "ownerReferences", owners_new);
    return change;
}

json_t *claim_owner_reference(const json_t *owner) {
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:b}", "apiVersion", tree_text(owner, "apiVersion", ""), "kind",
        tree_text(owner, "kind", ""), "name", tree_text(owner, "metadata.name", ""), "uid",
        tree_text(owner, "metadata.uid", ""), "controller", true, "blockOwnerDeletion", true);
}

/* Without the resource itself. */
static json_t *other_owners(const json_t *there, const json_t *owner) {
    const char *uid = tree_text(owner, "metadata.uid", "");
    json_t *others = json_array(), *reference;
    size_t i;
    json_array_foreach(tree_get(there, "metadata.ownerReferences"), i, reference) {
        if (!equal(tree_text(reference, "uid", NULL), uid)) {
            json_array_append(others, reference);
        }
    }
    return others;
}

json_t *claim_adoption(const json_t *there, const json_t *owner) {
    json_t *owners = other_owners(there, owner);
    json_array_append_new(owners, claim_owner_reference(owner));
    return change_of_owners(there, owners);
}

json_t *claim_release(const json_t *there, const json_t *owner) {
    json_t *change = change_of_owners(there, other_owners(there, owner));
    json_object_set_new(json_object_get(change, "metadata"), "annotations",
                        json_pack("{s:n}", ANNOTATION_UID));
    return change;
}

json_t *claim_correction(const json_t *there, const json_t *wanted) {
    json_t *spec = json_object(), *value;
    const char *name;
    json_object_foreach(json_object_get(wanted, "spec"), name, value) {
        const json_t *has = json_object_get(tree_get(there, "spec"), name);
        if (json_is_null(value) ? has && !json_is_null(has) : !has || !json_equal(has, value)) {
            json_object_set(spec, name, value);
        }
    }
    if (json_object_size(spec) == 0) {
        json_decref(spec);
        return NULL;
    }
    json_t *change = change_of(there);
    json_object_set_new(change, "spec", spec);
    return change;
}
