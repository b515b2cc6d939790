/* sweep_world.h: a small world of DistTrains, and of the pods that register, for whole lives of a
 * Sweep: the plan decides, the world does what it is told, loses some of its writes, in any order
 * (a controller that is killed between any two), and refuses some. */
#pragma once

#include "lib/curve.h"
#include "lib/time/clock.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/sweep/plan.h"
#include "operator/object.h"
#include "operator/resource.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { REPORTS = 20, LOOKS_MAX = 20000, STEP_MS = 1000 };

extern const int64_t start_ms;
extern struct schema *train; /* DistTrain's; the test's to read and free */

struct world {
    json_t *sweep, *trials; /* trials: {NAME: DistTrain} */
    json_t *made;           /* {NAME: how often} */
    json_t *write_failures;
    int64_t now_ms;
    uint64_t chance;
    int lossy;    /* of so many passes one is cut short; 0: none */
    int refusing; /* of so many creations one is refused; 0: none */
    int failing;  /* of so many trials one fails; 0: none */
    int running_most, stops;
    bool is_silent;      /* trials report another metric */
    json_t *pods;        /* {NAME: Pod}, those that register */
    int pods_made, died; /* died: of their own doing */
    int fatal;           /* of so many ends of such a pod one is by itself; 0: none */
    int final;           /* of so many of these one is for good; 0: none */
    int evicting;        /* of so many one is taken away; 0: none */
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
/* Of checks in here: a test's own are counted apart. */
int world_failures(void);

#define OBJECTIVE "objective: {metric: accuracy, goal: Maximize}, "
#define RANGE "parameters: [{name: X, uniform: {min: \"0\", max: \"1\"}}], "
