/* space.h: the search space of a Sweep: spec.parameters as distributions. The expressions are
 * HyperDrive's (learn.microsoft.com, "Define the search space"), with one exception: the bounds of
 * loguniform are values and not their logarithms. Pure.
 *
 * A point has a number from 0 to 1 for each parameter: its quantile in that parameter's
 * distribution. The values are computed from it. A parameter with `when` is active only while its
 * parent, an earlier choice that is active itself, has one of some values; otherwise it has no
 * value and SPACE_INACTIVE for its quantile, so that points which differ in nothing else are equal.
 */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

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
#define SPACE_INACTIVE 0.5
#define SPACE_VALUE_MAX 1e15 /* limits bounds, and values within 8.3 deviations */

struct space_parameter {
    const char *name; /* borrowed */
    enum expression expression;
    const json_t *choices; /* borrowed: texts and integers */
    int64_t count;         /* of choice, randint: the number of values; otherwise 0 */
    double low, high;      /* min and max, of log forms their logarithms; or mu and sigma */
    double q;              /* 0: not a q form */
    int parent;            /* the index of the parameter that `when` names; -1: always active */
    uint64_t allowed[SPACE_CHOICES_MAX / 64]; /* a bit for each of its choices that `when` has */
};

struct space {
    int count;
    struct space_parameter at[SPACE_PARAMETERS_MAX];
};

/* Reads spec.parameters that passed the schema, and checks their content. ERROR_INVALID and
 * "spec.parameters[1].uniform: min must be below max". */
NODISCARD int space_read(const json_t *parameters, struct space *ret_space, struct error *err);

/* units, here and below: a point, space->count numbers.
 *
 * {"NAME": "text", ...}: the values of the active parameters at a point; owned. Numbers are in the
 * format of space_number.
 */
json_t *space_values(const struct space *space, const double *units);
/* The quantiles of such values (for a parameter with a count, the middle of its interval). Values
 * that a q form has rounded map to the quantile of the rounded value, within 0 to 1. False: the
 * values are of another space, because a name or choice is missing. */
bool space_units(const struct space *space, const json_t *values, double *units);
/* In place: SPACE_INACTIVE for the parameters that are not active. */
void space_rest(const struct space *space, double *units);
/* Whether a parameter has a value at that point. */
bool space_is_active(const struct space *space, const double *units, int which);
/* Whether `when` has that choice of the parent. */
bool space_allows(const struct space_parameter *parameter, int64_t value);

/* Of one parameter: its value at a quantile (with q, rounded), and back, from 0 to 1; the quantile
 * in the middle of the value-th of `count`. */
double space_value(const struct space_parameter *parameter, double unit);
double space_unit(const struct space_parameter *parameter, double value);
double space_middle(int64_t value, int64_t count);
/* In place, the result of space_units for space_values of these units. */
void space_snap(const struct space *space, double *units);

/* Writes at most 15 digits, so that 0.1 + 0.2 is 0.3; no "+", and no exponent for whole numbers:
 * the format that trainers' settings accept (the number patterns of crds/disttrain.yaml). */
void space_number(double value, char text[static SPACE_NUMBER_MAX]);
