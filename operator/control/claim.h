/* claim.h: who owns an object whose name or label a resource wants to use: the resource, another
 * owner, or no one. An object is ours when its controller, among its ownerReferences, is the
 * resource; a label or a name proves nothing. Pure; knows no kind. */
#pragma once

#include "lib/tree.h"

/* On all objects that are created for a resource: its uid. With it an object that has lost its
 * owner is recognized. */
#define ANNOTATION_UID "windlass.dev/uid"
/* On objects of which two must never run at once: "true". */
#define ANNOTATION_ALONE "windlass.dev/alone"

enum claim {
    CLAIM_NONE,    /* not found */
    CLAIM_OURS,    /* it is the wanted one */
    CLAIM_ADOPT,   /* it was made for this resource and has no controller any more: take it back */
    CLAIM_RELEASE, /* we are its controller, but somebody changed our labels: let it go */
    CLAIM_HELD,    /* ours with other labels, or with our labels and no controller; not taken or let
                      go, since it may still run, and must not run beside another */
    CLAIM_LEAVING, /* it belongs to an earlier resource of this name, and goes with it */
    CLAIM_FOREIGN, /* somebody else's, or to be released and being deleted: never touched */
};

/* there: the whole object as the cluster has it; NULL: none. wanted: the object that was to be
 * created in its place; NULL: it was only found by its label. owner: the resource, with its uid. */
enum claim claim_judge(const json_t *there, const json_t *wanted, const json_t *owner);

/* What an object that was just stored lacks, so that its resource would not find it, or not take it
 * for its own: the name of one of our labels or annotations (windlass.dev/), or "ownerReferences",
 * when another resource controls it. NULL: nothing; without any controller it can be adopted.
 * wanted: as it was sent. Borrowed from it. */
const char *claim_lacks(const json_t *stored, const json_t *wanted);

/* The reference of an object to the resource that controls it. The caller owns the result of this
 * function and of those below. */
json_t *claim_owner_reference(const json_t *owner);
/* The changes for CLUSTER_MERGE, which apply only to this version of the object. A released object
 * keeps its other owners, and loses the annotation, so that it is not adopted. */
json_t *claim_adoption(const json_t *there, const json_t *owner);
json_t *claim_release(const json_t *there, const json_t *owner);
/* A merge patch that makes the spec of `there`, an object of ours, that of `wanted`. A field that
 * is null in `wanted` is removed; fields that `wanted` does not have belong to others and stay.
 * NULL: the specs agree. */
json_t *claim_correction(const json_t *there, const json_t *wanted);
