/* optimizer_settings.h: an optimizer's fields in the spec, read and checked (optimizer.h has their
 * meaning). */
#pragma once

#include "lib/error.h"

#include <jansson.h>

enum optimizer_kind {
    OPTIMIZER_SGD,
    OPTIMIZER_ADAM,
    OPTIMIZER_ADAMW,
    OPTIMIZER_LAMB,
    OPTIMIZER_LARS,
    OPTIMIZER_RMSPROP,
    OPTIMIZER_ADAGRAD
};
enum { OPTIMIZER_PATTERNS_MAX = 64 };

struct optimizer_settings {
    enum optimizer_kind kind;
    double learning_rate, momentum, decay, beta1, beta2, epsilon;
    bool nesterov;
    bool is_decoupled;      /* the weight decay; also for AdamW */
    double clip_norm;       /* 0: none */
    double clip_value;      /* INFINITY: none */
    double average_decay;   /* of the moving average; below 0: there is none */
    const json_t *no_decay; /* patterns (fnmatch); NULL: by rank. Borrowed from the spec */
    const json_t *rates;    /* layerRates; NULL: none. Borrowed from the spec */
};

/* spec: trainer.optimizer; ema: trainer.ema or NULL. INVALID names the field. */
NODISCARD int optimizer_settings_read(const json_t *spec, const json_t *ema,
                                      struct optimizer_settings *ret_settings, struct error *err);
/* Whether the parameter decays; by_rank: what holds without noDecay. */
bool optimizer_settings_decays(const struct optimizer_settings *settings, const char *name,
                               bool by_rank);
/* The factor of the rate of the parameter with this name. */
double optimizer_settings_factor(const struct optimizer_settings *settings, const char *name);
/* INVALID: a pattern of noDecay or layerRates matches none of the names. */
NODISCARD int optimizer_settings_check_names(const struct optimizer_settings *settings,
                                             const char *const *names, size_t count,
                                             struct error *err);
