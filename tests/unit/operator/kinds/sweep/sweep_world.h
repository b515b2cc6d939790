/* sweep_world.h: a small world of DistTrains, and of the pods that register, for whole lives of a
 * Sweep: the plan decides, the world does its writes, loses some of them, in any order (a
 * controller that is killed between any two), and refuses some. */
#pragma once

#include "lib/number/curve.h"
#include "lib/time/clock.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/kinds.h"
#include "operator/kinds/sweep/plan.h"
#include "operator/object.h"
#include "operator/resource.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { REPORTS = 20, LOOKS_MAX = 20000, STEP_MS = 1000 };

extern const int64_t start_ms;
extern struct schema *train; /* DistTrain's; the test reads and frees it */

struct world {
    json_t *sweep, *trials; /* trials: {NAME: DistTrain} */
    json_t *made;           /* {NAME: how often} */
    json_t *write_failures;
    int64_t now_ms;
    uint64_t chance;
    int lossy;    /* one of this many passes is cut short; 0: none */
    int refusing; /* one of this many creations is refused; 0: none */
    int failing;  /* one of this many trials fails; 0: none */
    int running_most, stops;
    bool is_silent;      /* trials report another metric */
    json_t *pods;        /* {NAME: Pod}, those that register */
    int pods_made, died; /* died: by themselves */
    int fatal;           /* one of this many ends of such a pod is a failure; 0: none */
    int final;           /* one of this many failures is final; 0: none */
    int evicting;        /* one of this many pods is evicted; 0: none */
    bool is_final;       /* one ended with 2 */
    int64_t registered;  /* the trial whose model is registered; -1: none */
};

void open_world(struct world *world, const char *spec);
void close_world(struct world *world);
double value_after(const json_t *trial, int64_t reports);
void end_trial(json_t *trial, const char *status, const char *reason, const char *message);
bool has_ended(const json_t *trial);
void report(const struct world *world, json_t *trial, int64_t reports);
bool one_of(struct world *world, int many);
void turn(struct world *world);
json_t *plan(const struct world *world);
bool is_over(const struct world *world);
void look(struct world *world);
void live(struct world *world);
double best_of(const struct world *world);
void check_end(const struct world *world, const char *status, const char *reason);
void check_made_once(const struct world *world, size_t count);

const json_t *succeeded(const struct world *world);
/* The number of failed checks in here; a test's own are counted separately. */
int world_failures(void);

#define OBJECTIVE "objective: {metric: accuracy, goal: Maximize}, "
#define RANGE "parameters: [{name: X, uniform: {min: \"0\", max: \"1\"}}], "
