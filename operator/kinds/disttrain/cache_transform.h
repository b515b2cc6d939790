/* cache_transform.h: the parts of a DistTrain and of its objects that the controller keeps in
 * memory (job/cache_transform.h). Pure. */
#pragma once

#include "operator/kinds/job/cache_transform.h"

/* On a trial of a Sweep: {"index": 7, "values": {"LEARNING_RATE": "0.01"}}. */
#define ANNOTATION_TRIAL "windlass.dev/trial"

/* A new tree (cache.h's cache_transform), of a DistTrain, a Pod or a Service. */
json_t *disttrain_transform(const json_t *object);

/* The name of the Sweep that it is a trial of, as its controller among the owners says; borrowed.
 * NULL: it is not a trial. Anybody may remove the annotation; the cluster keeps the owner.
 * An object from the cache has owners without apiVersion, where a Sweep of any group counts. */
const char *disttrain_sweep(const json_t *object);
/* Reads its ANNOTATION_TRIAL. False: it has none, or one without an index of at least 0 and an
 * object of values. Anybody may write another trial's index there. values: owned. */
bool disttrain_trial_annotation(const json_t *trial, int64_t *ret_index, json_t **ret_values);
