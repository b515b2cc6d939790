// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/search/space.h"

#include "lib/number/philox.h"
#include "operator/kinds/sweep/search/normal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const space_expressions[] = {
    "choice",      "randint", "uniform", "quniform",  "loguniform",
    "qloguniform", "normal",  "qnormal", "lognormal", "qlognormal",
};
static_assert(ARRAY_LEN(space_expressions) == EXPRESSION_COUNT, "a name for each expression");

enum { SIGMAS_MAX = 9, LOGARITHM_MAX = 34 };

static bool is_log(enum expression expression) {
    return expression == EXPRESSION_LOGUNIFORM || expression == EXPRESSION_QLOGUNIFORM ||
           expression == EXPRESSION_LOGNORMAL || expression == EXPRESSION_QLOGNORMAL;
}

static bool is_normal(enum expression expression) {
    return expression >= EXPRESSION_NORMAL;
}

static bool is_rounded(enum expression expression) {
    return expression == EXPRESSION_QUNIFORM || expression == EXPRESSION_QLOGUNIFORM ||
           expression == EXPRESSION_QNORMAL || expression == EXPRESSION_QLOGNORMAL;
}

static bool is_choice(const json_t *value) {
    return json_is_string(value) || json_is_number(value);
}

static bool are_choices(const json_t *values) {
    const json_t *value;
    size_t i;
    json_array_foreach(values, i, value) {
        if (!is_choice(value)) {
            return false;
        }
    }
    return true;
}

/* The text itself, or a number formatted in `number`. */
static const char *choice_text(const json_t *choice, char number[static SPACE_NUMBER_MAX]) {
    if (json_is_string(choice)) {
        return json_string_value(choice);
    }
    if (json_is_real(choice)) {
        space_number(json_real_value(choice), number);
    } else {
        snprintf(number, SPACE_NUMBER_MAX, "%lld", (long long)json_integer_value(choice));
    }
    return number;
}

/* The index of a choice's text in its list; -1: not found. */
static int64_t find_choice(const struct space_parameter *parameter, const char *text) {
    for (size_t i = 0; i < json_array_size(parameter->choices); i++) {
        char number[SPACE_NUMBER_MAX];
        if (strcmp(text, choice_text(json_array_get(parameter->choices, i), number)) == 0) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* ---- read ---- */

static int refuse(struct error *err, const struct space_parameter *parameter, const char *field,
                  const char *sentence) {
    return error_set(err, ERROR_INVALID, "%s.%s: %s", field,
                     space_expressions[parameter->expression], sentence);
}

static double number(const json_t *range, const char *name) {
    return strtod(tree_text(range, name, "0"), NULL);
}

static int by_text(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Sorted, because each pass over a Sweep reads it, and there may be 32 lists of 256. */
static bool has_same_twice(const json_t *choices) {
    char numbers[SPACE_CHOICES_MAX][SPACE_NUMBER_MAX];
    const char *texts[SPACE_CHOICES_MAX];
    size_t count = MIN(json_array_size(choices), SPACE_CHOICES_MAX); /* the schema's maximum */
    for (size_t i = 0; i < count; i++) {
        texts[i] = choice_text(json_array_get(choices, i), numbers[i]);
    }
    qsort(texts, count, sizeof *texts, by_text);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(texts[i - 1], texts[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A duplicate choice would be drawn twice as often, and two points would be the same. */
static int read_choices(const json_t *choices, const char *field, struct space_parameter *parameter,
                        struct error *err) {
    parameter->choices = choices;
    parameter->count = (int64_t)json_array_size(choices);
    if (parameter->count == 0) {
        return refuse(err, parameter, field, "is empty; there is nothing to choose from");
    }
    if (!are_choices(choices)) {
        return refuse(err, parameter, field, "has a value that is neither text nor a number");
    }
    return has_same_twice(choices)
               ? refuse(err, parameter, field, "has the same twice; take one out")
               : 0;
}

static int read_normal(const json_t *range, const char *field, struct space_parameter *parameter,
                       struct error *err) {
    parameter->low = number(range, "mu");
    parameter->high = number(range, "sigma");
    double furthest = fabs(parameter->low) + SIGMAS_MAX * parameter->high;
    if (parameter->high <= 0) {
        return refuse(err, parameter, field, "sigma must be above 0");
    }
    return furthest > (is_log(parameter->expression) ? LOGARITHM_MAX : SPACE_VALUE_MAX)
               ? refuse(err, parameter, field,
                        is_log(parameter->expression)
                            ? "mu and sigma are the logarithm's, and mu + 9 sigma is beyond 34"
                            : "mu + 9 sigma is beyond 1e15")
               : 0;
}

static int read_range(const json_t *range, const char *field, struct space_parameter *parameter,
                      struct error *err) {
    parameter->q = is_rounded(parameter->expression) ? number(range, "q") : 0;
    if (is_rounded(parameter->expression) &&
        !(parameter->q > 0 && parameter->q <= SPACE_VALUE_MAX)) {
        return refuse(err, parameter, field, "q must be above 0, and at most 1e15");
    }
    if (is_normal(parameter->expression)) {
        return read_normal(range, field, parameter, err);
    }
    double min = number(range, "min"), max = number(range, "max");
    bool has_logarithms = is_log(parameter->expression);
    if (has_logarithms && min <= 0) {
        return refuse(err, parameter, field,
                      "min must be above 0: both are values, not their logarithms (HyperDrive's "
                      "loguniform(-6, -1) is min: \"0.00248\", max: \"0.368\")");
    }
    if (min >= max) {
        return refuse(err, parameter, field, "min must be below max");
    }
    if (fabs(min) > SPACE_VALUE_MAX || fabs(max) > SPACE_VALUE_MAX) {
        return refuse(err, parameter, field, "min and max must be from -1e15 to 1e15");
    }
    parameter->low = has_logarithms ? log(min) : min;
    parameter->high = has_logarithms ? log(max) : max;
    return 0;
}

static int read_one(const json_t *json, size_t index, struct space_parameter *parameter,
                    struct error *err) {
    char field[64];
    snprintf(field, sizeof field, "spec.parameters[%zu]", index);
    const json_t *given = NULL;
    int count = 0;
    for (size_t i = 0; i < EXPRESSION_COUNT; i++) {
        const json_t *expression = json_object_get(json, space_expressions[i]);
        if (expression) {
            given = expression;
            parameter->expression = (enum expression)i;
            count++;
        }
    }
    if (count != 1) {
        return error_set(err, ERROR_INVALID,
                         "%s: exactly one of choice, randint, uniform, quniform, loguniform, "
                         "qloguniform, normal, qnormal, lognormal and qlognormal must be given",
                         field);
    }
    parameter->name = tree_text(json, "name", "");
    if (parameter->expression == EXPRESSION_CHOICE) {
        return read_choices(given, field, parameter, err);
    }
    if (parameter->expression == EXPRESSION_RANDINT) {
        parameter->count = tree_integer(given, "upper", 1);
        return 0;
    }
    return read_range(given, field, parameter, err);
}

static int refuse_when(struct error *err, int index, const char *field, const char *sentence) {
    return error_set(err, ERROR_INVALID, "spec.parameters[%d].when.%s: %s", index, field, sentence);
}

/* A parent comes before, so conditions have no circle. */
static int read_when(const json_t *when, struct space *space, int index, struct error *err) {
    struct space_parameter *parameter = &space->at[index];
    const char *name = tree_text(when, "parameter", "");
    const json_t *values = json_object_get(when, "values");
    parameter->parent = index - 1;
    while (parameter->parent >= 0 && strcmp(space->at[parameter->parent].name, name) != 0) {
        parameter->parent--;
    }
    if (parameter->parent < 0 || !space->at[parameter->parent].choices) {
        return refuse_when(
            err, index, "parameter",
            "is not the name of a choice before this parameter; move that before it");
    }
    if (!are_choices(values)) {
        return refuse_when(err, index, "values", "has a value that is neither text nor a number");
    }
    for (size_t i = 0; i < json_array_size(values); i++) {
        char text[SPACE_NUMBER_MAX];
        int64_t choice = find_choice(&space->at[parameter->parent],
                                     choice_text(json_array_get(values, i), text));
        if (choice < 0) {
            return refuse_when(err, index, "values",
                               "has a value that is none of that parameter's choices");
        }
        parameter->allowed[choice / 64] |= (uint64_t)1 << (choice % 64);
    }
    return 0;
}

int space_read(const json_t *parameters, struct space *ret_space, struct error *err) {
    struct space space = {0};
    for (size_t i = 0; i < json_array_size(parameters); i++) {
        assert(space.count < SPACE_PARAMETERS_MAX); /* the schema's maximum */
        const json_t *json = json_array_get(parameters, i);
        const json_t *when = json_object_get(json, "when");
        space.at[i].parent = -1;
        if (read_one(json, i, &space.at[space.count++], err) < 0 ||
            (when && read_when(when, &space, (int)i, err) < 0)) {
            return -1;
        }
    }
    if (space.count == 0) {
        return error_set(err, ERROR_INVALID,
                         "spec.parameters: is empty; there is nothing to search");
    }
    *ret_space = space;
    return 0;
}

/* The number of the value at a quantile, of a parameter with a count. */
static int64_t value_number(const struct space_parameter *parameter, double unit) {
    int64_t value = (int64_t)(unit * (double)parameter->count);
    return MIN(MAX(value, 0), parameter->count - 1);
}

/* ---- conditions ---- */

bool space_allows(const struct space_parameter *parameter, int64_t value) {
    return parameter->allowed[value / 64] >> (value % 64) & 1;
}

bool space_is_active(const struct space *space, const double *units, int which) {
    const struct space_parameter *parameter = &space->at[which];
    while (parameter->parent >= 0) {
        int parent = parameter->parent;
        if (!space_allows(parameter, value_number(&space->at[parent], units[parent]))) {
            return false;
        }
        parameter = &space->at[parent];
    }
    return true;
}

/* Parents come first, so that an inactive parent's quantile is set before it is read. */
void space_rest(const struct space *space, double *units) {
    for (int i = 0; i < space->count; i++) {
        units[i] = space_is_active(space, units, i) ? units[i] : SPACE_INACTIVE;
    }
}

double space_middle(int64_t value, int64_t count) {
    return ((double)value + 0.5) / (double)count;
}

/* ---- values ---- */

double space_value(const struct space_parameter *parameter, double unit) {
    double low = parameter->low, high = parameter->high;
    double x = is_normal(parameter->expression) ? low + high * normal_quantile(unit)
                                                : low + unit * (high - low);
    x = is_log(parameter->expression) ? exp(x) : x;
    return parameter->q > 0 ? round(x / parameter->q) * parameter->q : x;
}

double space_unit(const struct space_parameter *parameter, double value) {
    double low = parameter->low, high = parameter->high;
    if (is_log(parameter->expression)) {
        value = value > 0 ? log(value) : -INFINITY; /* a q form may round to 0 */
    }
    double unit = is_normal(parameter->expression) ? normal_below((value - low) / high)
                                                   : (value - low) / (high - low);
    return fmin(fmax(unit, 0), 1);
}

void space_number(double value, char text[static SPACE_NUMBER_MAX]) {
    if (value == 0) {
        value = 0; /* not -0 */
    }
    bool is_whole = value == round(value) || fabs(value) >= 1e14; /* 15 digits: no point */
    snprintf(text, SPACE_NUMBER_MAX, is_whole ? "%.0f" : "%.15g", value);
}

static json_t *value_text(const struct space_parameter *parameter, double unit) {
    char text[SPACE_NUMBER_MAX];
    if (!parameter->count) {
        space_number(space_value(parameter, unit), text);
        return json_string(text);
    }
    int64_t at = value_number(parameter, unit);
    const json_t *choice = json_array_get(parameter->choices, (size_t)at);
    if (choice) {
        return json_string(choice_text(choice, text));
    }
    space_number((double)at, text);
    return json_string(text);
}

json_t *space_values(const struct space *space, const double *units) {
    json_t *values = json_object();
    for (int i = 0; i < space->count; i++) {
        if (space_is_active(space, units, i)) {
            json_object_set_new(values, space->at[i].name, value_text(&space->at[i], units[i]));
        }
    }
    return values;
}

/* Accepts only texts that are entirely a number. */
static bool read_number(const char *text, double *ret_value) {
    char *end;
    double value = strtod(text, &end);
    *ret_value = value;
    return end != text && !*end && isfinite(value);
}

static bool unit_of_text(const struct space_parameter *parameter, const char *text,
                         double *ret_unit) {
    double value = 0;
    if (!text || (!parameter->choices && !read_number(text, &value))) {
        return false;
    }
    if (!parameter->count) {
        *ret_unit = space_unit(parameter, value);
        return true;
    }
    value = parameter->choices ? (double)find_choice(parameter, text) : value;
    if (value < 0 || value >= (double)parameter->count || value != floor(value)) {
        return false;
    }
    *ret_unit = space_middle((int64_t)value, parameter->count);
    return true;
}

bool space_units(const struct space *space, const json_t *values, double *units) {
    for (int i = 0; i < space->count; i++) {
        const struct space_parameter *parameter = &space->at[i];
        const char *text = json_string_value(json_object_get(values, parameter->name));
        units[i] = SPACE_INACTIVE;
        if (space_is_active(space, units, i) && !unit_of_text(parameter, text, &units[i])) {
            return false;
        }
    }
    return true;
}

void space_snap(const struct space *space, double *units) {
    for (int i = 0; i < space->count; i++) {
        const struct space_parameter *parameter = &space->at[i];
        units[i] = parameter->count
                       ? space_middle(value_number(parameter, units[i]), parameter->count)
                       : space_unit(parameter, space_value(parameter, units[i]));
    }
    space_rest(space, units);
}
