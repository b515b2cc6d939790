/* space.h: the search space of a Sweep: spec.parameters as distributions, and the points that
 * Random, Sobol and Grid choose. The expressions are HyperDrive's (learn.microsoft.com, "Define the
 * search space"), with one exception: the bounds of loguniform are values and not their logarithms.
 * Pure.
 *
 * A point has a number from 0 to 1 for each parameter: its quantile in that parameter's
 * distribution. The values are computed from it. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"
#include "operator/kinds/sweep/search/sobol.h"

enum expression {
    EXPRESSION_CHOICE,      /* one of a list, with equal probability */
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
    SPACE_NUMBER_MAX = 32, /* bytes of a number as text, terminator included */
};
#define SPACE_VALUE_MAX 1e15 /* limits bounds, and values within 8.3 deviations */

struct space_parameter {
    const char *name; /* borrowed */
    enum expression expression;
    const json_t *choices; /* borrowed: texts and integers */
    int64_t count;         /* of choice, randint: the number of values; otherwise 0 */
    double low, high;      /* min and max, of log forms their logarithms; or mu and sigma */
    double q;              /* 0: not a q form */
};

struct space {
    int count;
    struct space_parameter at[SPACE_PARAMETERS_MAX];
};

/* Reads spec.parameters that passed the schema, and checks their content. ERROR_INVALID and
 * "spec.parameters[1].uniform: min must be below max". */
NODISCARD int space_read(const json_t *parameters, struct space *ret_space, struct error *err);

/* The number of points; 0: a parameter is a range, or there are more than PHILOX_COUNT_MAX points.
 */
int64_t space_size(const struct space *space);

enum search { SEARCH_RANDOM, SEARCH_SOBOL, SEARCH_GRID };
struct space_points {
    const struct space *space; /* borrowed */
    enum search search;
    uint64_t seed;
    int64_t size; /* space_size */
    struct sobol sobol;
};
/* Random: random numbers from seed, index and parameter; when the space has a size, its points in
 * random order without repetition. Sobol: sobol.h, each parameter shifted by seed (the boxes stay
 * even); in a space with a size points may repeat. Grid, for choices only: all combinations, the
 * last parameter varies fastest. */
void space_points_init(struct space_points *points, const struct space *space, enum search search,
                       uint64_t seed);
/* The index-th point, from 0 on. index must be below the size where there is one (except for
 * Sobol); units: [space->count]. */
void space_points_at(const struct space_points *points, int64_t index, double *units);

/* {"NAME": "text", ...}: the values at a point; owned. Numbers are in the format of space_number.
 */
json_t *space_values(const struct space *space, const double *units);
/* The quantiles of such values (for a parameter with a count, the middle of its interval). Values
 * that a q form has rounded map to the quantile of the rounded value, within 0 to 1. False: the
 * values are of another space, because a name or choice is missing. */
bool space_units(const struct space *space, const json_t *values, double *units);
/* In place, the result of space_units for space_values of these units. */
void space_snap(const struct space *space, double *units);

/* Writes at most 15 digits, so that 0.1 + 0.2 is 0.3; no "+", and no exponent for whole numbers:
 * the format that trainers' settings accept (the number patterns of crds/disttrain.yaml). */
void space_number(double value, char text[static SPACE_NUMBER_MAX]);
