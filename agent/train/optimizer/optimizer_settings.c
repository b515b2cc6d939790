// SPDX-License-Identifier: Apache-2.0
#include "agent/train/optimizer/optimizer_settings.h"

#include "agent/train/dataset/fields.h"

#include <fnmatch.h>
#include <math.h>

/* ---- reading -------------------------------------------------------------------------------- */

static int read_expected(const json_t *spec, struct optimizer_settings *settings,
                         struct error *err) {
    static const char *const kinds[] = {"SGD",  "Adam",    "AdamW",   "LAMB",
                                        "LARS", "RMSprop", "Adagrad", NULL};
    int kind;
    if (fields_choice(spec, "kind", kinds, &kind, err) < 0 ||
        fields_number(spec, "learningRate", &settings->learning_rate, err) < 0 ||
        fields_number(spec, "momentum", &settings->momentum, err) < 0 ||
        fields_flag(spec, "nesterov", &settings->nesterov, err) < 0 ||
        fields_number(spec, "weightDecay", &settings->decay, err) < 0 ||
        fields_number(spec, "beta1", &settings->beta1, err) < 0 ||
        fields_number(spec, "beta2", &settings->beta2, err) < 0 ||
        fields_number(spec, "epsilon", &settings->epsilon, err) < 0) {
        return -1;
    }
    settings->kind = (enum optimizer_kind)kind;
    return 0;
}

/* A number above 0 that may be absent; `absent` then. */
static int read_limit(const json_t *spec, const char *name, double absent, double *ret_limit,
                      struct error *err) {
    *ret_limit = absent;
    if (json_object_get(spec, name) && fields_number(spec, name, ret_limit, err) < 0) {
        return -1;
    }
    return *ret_limit > 0 || !json_object_get(spec, name)
               ? 0
               : error_set(err, ERROR_INVALID, "%s: a number above 0 is expected", name);
}

static int read_patterns(const json_t *spec, struct optimizer_settings *settings,
                         struct error *err) {
    const json_t *no_decay = json_object_get(spec, "noDecay");
    const json_t *rates = json_object_get(spec, "layerRates");
    double factor;
    if ((no_decay && !json_is_array(no_decay)) ||
        json_array_size(no_decay) > OPTIMIZER_PATTERNS_MAX) {
        return error_set(err, ERROR_INVALID, "noDecay: a list of at most %d patterns is expected",
                         OPTIMIZER_PATTERNS_MAX);
    }
    for (size_t i = 0; i < json_array_size(no_decay); i++) {
        if (!json_is_string(json_array_get(no_decay, i))) {
            return error_set(err, ERROR_INVALID, "noDecay[%zu]: a string is expected", i);
        }
    }
    if (rates && fields_array(spec, "layerRates", OPTIMIZER_PATTERNS_MAX, &rates, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < json_array_size(rates); i++) {
        const json_t *row = json_array_get(rates, i);
        const char *pattern;
        if (fields_text(row, "weights", &pattern, err) < 0 ||
            fields_number(row, "factor", &factor, err) < 0) {
            return error_context(err, "layerRates[%zu]", i);
        }
        if (factor < 0) {
            return error_set(err, ERROR_INVALID,
                             "layerRates[%zu].factor: a number from 0 is expected", i);
        }
    }
    settings->no_decay = no_decay;
    settings->rates = rates;
    return 0;
}

static int read_optional(const json_t *spec, struct optimizer_settings *settings,
                         struct error *err) {
    if (json_object_get(spec, "decoupledWeightDecay") &&
        fields_flag(spec, "decoupledWeightDecay", &settings->is_decoupled, err) < 0) {
        return -1;
    }
    return read_limit(spec, "clipNorm", 0, &settings->clip_norm, err) < 0 ||
                   read_limit(spec, "clipValue", INFINITY, &settings->clip_value, err) < 0
               ? -1
               : read_patterns(spec, settings, err);
}

/* Fields that cannot be combined. */
static int check(const struct optimizer_settings *settings, struct error *err) {
    enum optimizer_kind kind = settings->kind;
    if (settings->nesterov && (kind != OPTIMIZER_SGD || settings->momentum == 0)) {
        return error_set(err, ERROR_INVALID, "optimizer.nesterov: SGD with a momentum is expected");
    }
    if (settings->is_decoupled && (kind == OPTIMIZER_LARS || kind == OPTIMIZER_LAMB)) {
        return error_set(err, ERROR_INVALID,
                         "optimizer.decoupledWeightDecay: is not for LARS and LAMB, whose ratios "
                         "have the decay in them");
    }
    return settings->clip_norm > 0 && isfinite(settings->clip_value)
               ? error_set(err, ERROR_INVALID,
                           "optimizer: one of clipNorm and clipValue is expected, not both")
               : 0;
}

int optimizer_settings_read(const json_t *spec, const json_t *ema,
                            struct optimizer_settings *ret_settings, struct error *err) {
    struct optimizer_settings settings = {.average_decay = -1};
    if (read_expected(spec, &settings, err) < 0 || read_optional(spec, &settings, err) < 0) {
        return error_context(err, "optimizer");
    }
    if (ema && fields_number(ema, "decay", &settings.average_decay, err) < 0) {
        return error_context(err, "ema");
    }
    if (ema && !(settings.average_decay >= 0 && settings.average_decay < 1)) {
        return error_set(err, ERROR_INVALID, "ema.decay: a number from 0 to below 1 is expected");
    }
    settings.is_decoupled |= settings.kind == OPTIMIZER_ADAMW;
    if (check(&settings, err) < 0) {
        return -1;
    }
    *ret_settings = settings;
    return 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool matches(const json_t *pattern, const char *name) {
    return fnmatch(json_string_value(pattern), name, 0) == 0;
}

bool optimizer_settings_decays(const struct optimizer_settings *settings, const char *name,
                               bool by_rank) {
    bool decays = true;
    for (size_t i = 0; i < json_array_size(settings->no_decay); i++) {
        decays &= !matches(json_array_get(settings->no_decay, i), name);
    }
    return settings->no_decay ? decays : by_rank;
}

double optimizer_settings_factor(const struct optimizer_settings *settings, const char *name) {
    for (size_t i = 0; i < json_array_size(settings->rates); i++) {
        const json_t *row = json_array_get(settings->rates, i);
        struct error ignored = {0};
        double factor = 1;
        if (matches(json_object_get(row, "weights"), name) &&
            fields_number(row, "factor", &factor, &ignored) == 0) {
            return factor;
        }
    }
    return 1;
}

static int check_pattern(const char *field, const json_t *pattern, const char *const *names,
                         size_t count, struct error *err) {
    for (size_t i = 0; i < count; i++) {
        if (matches(pattern, names[i])) {
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID,
                     "optimizer.%s: no trained weight is named as \"%.100s\"; the first of them is "
                     "\"%.100s\"",
                     field, json_string_value(pattern), count ? names[0] : "");
}

int optimizer_settings_check_names(const struct optimizer_settings *settings,
                                   const char *const *names, size_t count, struct error *err) {
    for (size_t i = 0; i < json_array_size(settings->no_decay); i++) {
        if (check_pattern("noDecay", json_array_get(settings->no_decay, i), names, count, err) <
            0) {
            return -1;
        }
    }
    for (size_t i = 0; i < json_array_size(settings->rates); i++) {
        const json_t *row = json_array_get(settings->rates, i);
        if (check_pattern("layerRates", json_object_get(row, "weights"), names, count, err) < 0) {
            return -1;
        }
    }
    return 0;
}
