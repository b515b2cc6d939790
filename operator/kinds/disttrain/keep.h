/* keep.h: what the controller remembers of a DistTrain and of what it owns (job/keep.h). Pure. */
#pragma once

#include "operator/kinds/job/keep.h"

/* On a trial of a Sweep: {"index": 7, "values": {"LEARNING_RATE": "0.01"}}. */
#define ANNOTATION_TRIAL "windlass.dev/trial"

/* A new tree (cache.h's cache_keep), of a DistTrain, a Pod or a Service. */
json_t *disttrain_keep(const json_t *object);
