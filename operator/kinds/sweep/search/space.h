/* space.h: what a Sweep chooses from: spec.parameters as distributions, and the points that Random,
 * Sobol and Grid take of them. The expressions are HyperDrive's (learn.microsoft.com, "Define the
 * search space"), but for one thing: bounds of loguniform are values and not their logarithms.
 * Pure.
 *
 * A point is a number from 0 to 1 for each parameter, its place in that parameter's distribution;
 * values are made of it. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"
#include "operator/kinds/sweep/search/sobol.h"

enum expression {
    EXPRESSION_CHOICE,      /* one of a list, all alike */
    EXPRESSION_RANDINT,     /* 0 .. upper - 1 */
    EXPRESSION_UNIFORM,     /* min .. max */
    EXPRESSION_QUNIFORM,    /* round(uniform / q) * q */
    EXPRESSION_LOGUNIFORM,  /* its logarithm is uniform */
    EXPRESSION_QLOGUNIFORM, /* round(loguniform / q) * q */
    EXPRESSION_NORMAL,      /* mu, sigma */
    EXPRESSION_QNORMAL,
    EXPRESSION_LOGNORMAL, /* exp(normal): mu and sigma are the logarithm's */
    EXPRESSION_QLOGNORMAL,
    EXPRESSION_COUNT
};
extern const char *const space_expressions[]; /* the fields of spec.parameters[] by enum */

enum {
    SPACE_PARAMETERS_MAX = 32,
    SPACE_CHOICES_MAX = 256,
    SPACE_NUMBER_MAX = 32, /* bytes of a number as text, its end included */
};
#define SPACE_VALUE_MAX 1e15 /* no bound, and nothing within 8.3 deviations, is beyond it */

struct parameter {
    const char *name; /* borrowed */
    enum expression expression;
    const json_t *choices; /* borrowed: texts and integers */
    int64_t count;         /* of choice, randint: how many values there are; else 0 */
    double low, high;      /* min and max, of log forms their logarithms; or mu and sigma */
    double q;              /* 0: no q form */
};

struct space {
    int count;
    struct parameter at[SPACE_PARAMETERS_MAX];
};

/* Of spec.parameters that passed the schema; checks what is in it, too. ERROR_INVALID and
 * "spec.parameters[1].uniform: min must be below max". */
NODISCARD int space_read(const json_t *parameters, struct space *ret_space, struct error *err);

/* How many points there are; 0: some parameter is a range, or they are more than PHILOX_COUNT_MAX.
 */
int64_t space_size(const struct space *space);

enum search { SEARCH_RANDOM, SEARCH_SOBOL, SEARCH_GRID };
struct points {
    const struct space *space; /* borrowed */
    enum search search;
    uint64_t seed;
    int64_t size; /* space_size */
    struct sobol sobol;
};
/* Random: chance by seed, index and parameter; where the space has a size, its points in a random
 * order, none twice. Sobol: sobol.h, each parameter shifted by seed (the boxes stay even); of a
 * space with a size points may come again. Grid, of choices alone: all of them, the last parameter
 * fastest. */
void points_init(struct points *points, const struct space *space, enum search search,
                 uint64_t seed);
/* The index-th point, from 0 on, below the size where there is one (but for Sobol); units:
 * [space->count]. */
void points_at(const struct points *points, int64_t index, double *units);

/* {"NAME": "text", ...}: the values at a point; owned. Numbers as space_number writes them. */
json_t *space_values(const struct space *space, const double *units);
/* Where in each distribution such values lie (of what has a count, the middle of its part): what a
 * q form has rounded is where it was rounded to, and within 0 to 1. False: they are of another
 * space; a name or choice is missing. */
bool space_units(const struct space *space, const json_t *values, double *units);
/* What space_units would say of space_values of these, in place. */
void space_snap(const struct space *space, double *units);

/* At most 15 digits, so that 0.1 + 0.2 is 0.3; no "+", and no exponent of a whole number:
 * what trainers' settings take (the number patterns of crds/disttrain.yaml). */
void space_number(double value, char text[static SPACE_NUMBER_MAX]);
