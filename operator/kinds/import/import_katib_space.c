// SPDX-License-Identifier: Apache-2.0
/* The parameters of a Katib Experiment as those of a Sweep. */
#include "operator/kinds/import/import_katib.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICES_MAX = 256 };

char *katib_parameter_name(const char *name) {
    const char *start = name + strspn(name, "-");
    char *made = x_printf("%s%s", isdigit((unsigned char)*start) ? "_" : "", start);
    for (char *at = made; *at; at++) {
        *at = isalnum((unsigned char)*at) ? *at : '_';
    }
    return made;
}

struct range {
    double min, max, step; /* step 0: none */
    const char *distribution;
    bool is_whole;
};

/* As the schema writes numbers; owned. */
static json_t *number(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.12g", value);
    char *plus = strstr(text, "e+");
    if (plus) {
        memmove(plus + 1, plus + 2, strlen(plus + 2) + 1);
    }
    return json_string(text);
}

/* Every value of a range with steps, as a list; owned; NULL: there are too many. */
static json_t *choices_of(const struct range *range) {
    double step = range->step > 0 ? range->step : 1;
    double count = floor((range->max - range->min) / step + 1e-9) + 1;
    if (!(count >= 1 && count <= CHOICES_MAX)) {
        return NULL;
    }
    json_t *list = json_array();
    for (int i = 0; i < (int)count; i++) {
        double value = range->min + i * step;
        json_array_append_new(list,
                              range->is_whole ? json_integer((json_int_t)value) : number(value));
    }
    return list;
}

/* Katib's normal distributions have the middle of the range as mean, and a sixth as deviation. */
static json_t *bell_of(const struct range *range, bool is_log, double step) {
    double low = is_log ? log(range->min) : range->min,
           high = is_log ? log(range->max) : range->max;
    json_t *made =
        json_pack("{s:o, s:o}", "mu", number((low + high) / 2), "sigma", number((high - low) / 6));
    if (step > 0) {
        json_object_set_new(made, "q", number(step));
    }
    return made;
}

static json_t *span_of(const struct range *range, double step) {
    json_t *made = json_pack("{s:o, s:o}", "min", number(range->min), "max", number(range->max));
    if (step > 0) {
        json_object_set_new(made, "q", number(step));
    }
    return made;
}

/* Adds the values of a range to the parameter. */
static void add_range(struct import *import, json_t *parameter, const struct range *range,
                      bool is_grid) {
    static const char *const names[][4] = {{"uniform", "uniform", "quniform", ""},
                                           {"logUniform", "loguniform", "qloguniform", "log"},
                                           {"normal", "normal", "qnormal", ""},
                                           {"logNormal", "lognormal", "qlognormal", "log"}};
    size_t row = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        row = strcmp(range->distribution, names[i][0]) == 0 ? i : row;
    }
    double step = range->step > 0 ? range->step : range->is_whole ? 1 : 0;
    bool is_even = row == 0, is_log = *names[row][3] && range->min > 0;
    bool is_one = range->min >= range->max;
    json_t *list = is_one || (step > 0 && (is_even || is_grid)) ? choices_of(range) : NULL;
    if (list) {
        json_object_set_new(parameter, "choice", list);
        return;
    }
    if (*names[row][3] && !is_log) {
        import_note(import, "parameters", "%s: a logarithm wants min above 0: uniform here",
                    tree_text(parameter, "name", ""));
        row = 0;
    }
    json_object_set_new(parameter, names[row][step > 0 ? 2 : 1],
                        row >= 2 ? bell_of(range, is_log, step) : span_of(range, step));
    if (row >= 2) {
        import_note(import, "parameters", "%s: mu and sigma as Katib takes them from min and max",
                    tree_text(parameter, "name", ""));
    }
}

static int add_list(json_t *parameter, const json_t *list, struct error *err) {
    if (json_array_size(list) < 1 || json_array_size(list) > CHOICES_MAX) {
        return error_set(err, ERROR_INVALID, "feasibleSpace.list: 1 to %d values are possible",
                         CHOICES_MAX);
    }
    json_object_set_new(parameter, "choice", import_words(list));
    return 0;
}

static double value_of(const json_t *space, const char *name) {
    AUTO(text_freep) char *text = import_scalar(json_object_get(space, name));
    return text ? strtod(text, NULL) : 0;
}

static int add_parameter(struct import *import, const json_t *given, bool is_grid,
                         struct error *err) {
    const json_t *space = json_object_get(given, "feasibleSpace");
    const char *type = tree_text(given, "parameterType", "");
    AUTO(text_freep) char *name = katib_parameter_name(tree_text(given, "name", ""));
    AUTO(tree_freep) json_t *parameter = json_pack("{s:s}", "name", name);
    const struct range range = {.min = value_of(space, "min"),
                                .max = value_of(space, "max"),
                                .step = value_of(space, "step"),
                                .distribution = tree_text(space, "distribution", "uniform"),
                                .is_whole = strcmp(type, "int") == 0};
    bool is_range = range.is_whole || strcmp(type, "double") == 0;
    if (is_range &&
        !(range.min <= range.max && fabs(range.min) <= 1e15 && fabs(range.max) <= 1e15)) {
        return error_set(err, ERROR_INVALID, "feasibleSpace: min at most max is expected");
    }
    if (is_range) {
        add_range(import, parameter, &range, is_grid);
    } else if (add_list(parameter, json_object_get(space, "list"), err) < 0) {
        return -1;
    }
    if (is_grid && !json_object_get(parameter, "choice")) {
        return error_set(err, ERROR_INVALID,
                         "feasibleSpace.step: missing: a grid has at most %d values of each",
                         CHOICES_MAX);
    }
    json_array_append(json_object_get(import->spec, "parameters"), parameter);
    return 0;
}

int katib_parameters(struct import *import, const json_t *spec, struct error *err) {
    const json_t *list = json_object_get(spec, "parameters");
    bool is_grid = strcmp(tree_text(import->spec, "algorithm.kind", ""), "Grid") == 0;
    json_object_set_new(import->spec, "parameters", json_array());
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (add_parameter(import, json_array_get(list, i), is_grid, err) < 0) {
            return error_context(err, "spec.parameters[%zu]", i);
        }
    }
    return 0;
}
