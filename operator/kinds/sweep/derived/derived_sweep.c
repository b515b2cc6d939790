// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/derived/derived_sweep.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 63, TRIES = 20, AT_ONCE = 4, DECADES = 50 /* max / min of a log range */ };

static const char about[] =
    "Made by `windlass sweep`. `windlass run -f` of this file does the same again; on a cluster,\n"
    "volumes must be what its pods can mount, then: kubectl apply -f";
static const char about_parameters[] =
    "choice, uniform, loguniform, randint and others: windlass explain spec.parameters";
static const char about_trial[] = "The training; $(NAME) is a trial's value.";

/* learningRate: LEARNING_RATE; owned. */
static char *parameter_name(const char *field) {
    const char *dot = strrchr(field, '.'), *from = dot ? dot + 1 : field;
    char name[2 * NAME_MAX_BYTES] = "";
    size_t used = 0;
    for (; *from && used + 2 < sizeof name; from++) {
        bool is_new = isupper((unsigned char)*from) && used > 0 && islower((unsigned char)from[-1]);
        if (is_new) {
            name[used++] = '_';
        }
        name[used++] = isalnum((unsigned char)*from) ? (char)toupper((unsigned char)*from) : '_';
    }
    return x_strdup(name);
}

/* The schema of spec.PATH; NULL: there is no such field. */
static const json_t *schema_at(const struct schema *made, const char *path) {
    const json_t *at = tree_get(schema_root(made), "properties.spec");
    while (at && *path) {
        size_t length = strcspn(path, ".");
        AUTO(text_freep) char *name = x_strndup(path, length);
        at = json_object_get(json_object_get(at, "properties"), name);
        path += length + (path[length] == '.');
    }
    return at;
}

/* The whole path of a field that may be given without what is around it; owned, or NULL. */
static char *find_field(const struct schema *made, const char *field) {
    static const char *const around[] = {"", "trainer.", "trainer.optimizer.", "trainer.schedule.",
                                         "trainer.data.augment."};
    for (size_t i = 0; i < ARRAY_LEN(around); i++) {
        AUTO(text_freep) char *path = x_printf("%s%s", around[i], field);
        if (schema_at(made, path)) {
            return TAKE(path);
        }
    }
    return NULL;
}

static void put(json_t *spec, const char *path, const char *text) {
    const char *dot = strchr(path, '.');
    if (!dot) {
        json_object_set_new(spec, path, json_string(text));
        return;
    }
    AUTO(text_freep) char *first = x_strndup(path, (size_t)(dot - path));
    put(tree_ensure_object(spec, first), dot + 1, text);
}

static bool is_whole(const char *text) {
    const char *digits = text + (*text == '-');
    return *digits && !digits[strspn(digits, "0123456789")];
}

/* A number where the text is one (not "nan" or "inf", which no manifest has), else the text; owned.
 */
static json_t *scalar_of(const char *text) {
    char *end = NULL;
    double number = strtod(text, &end);
    return is_whole(text) && strlen(text) < 18  ? json_integer(strtoll(text, NULL, 10))
           : *text && !*end && isfinite(number) ? json_real(number)
                                                : json_string(text);
}

/* "a,b,c"; owned. */
static json_t *choice_of(const char *range) {
    json_t *list = json_array();
    while (*range) {
        size_t length = strcspn(range, ",");
        AUTO(text_freep) char *one = x_strndup(range, length);
        json_array_append_new(list, scalar_of(one));
        range += length + (range[length] == ',');
    }
    return json_pack("{s:o}", "choice", list);
}

/* "0.001..0.3" or "64,128"; *ret_parameter is owned. */
static int read_range(const struct kind_vary *vary, json_t **ret_parameter, struct error *err) {
    const char *dots = strstr(vary->range, "..");
    if (!dots && !*vary->range) {
        return error_set(err, ERROR_INVALID, "--vary %s: expected FIELD=MIN..MAX or FIELD=A,B,C",
                         vary->field);
    }
    if (!dots) {
        *ret_parameter = choice_of(vary->range);
        return 0;
    }
    AUTO(text_freep) char *low = x_strndup(vary->range, (size_t)(dots - vary->range));
    const char *high = dots + 2;
    json_t *min = scalar_of(low), *max = scalar_of(high);
    double from = json_number_value(min), to = json_number_value(max);
    if (!json_is_number(min) || !json_is_number(max) || !(from < to)) {
        json_decref(min);
        json_decref(max);
        return error_set(err, ERROR_INVALID,
                         "--vary %s=%.60s: expected two numbers, the smaller first, as in "
                         "0.001..0.3",
                         vary->field, vary->range);
    }
    bool is_log = from > 0 && to / from >= DECADES && !(is_whole(low) && is_whole(high));
    if (is_whole(low) && is_whole(high)) {
        *ret_parameter =
            json_pack("{s:{s:o, s:o, s:i}}", "quniform", "min", min, "max", max, "q", 1);
    } else {
        *ret_parameter =
            json_pack("{s:{s:o, s:o}}", is_log ? "loguniform" : "uniform", "min", min, "max", max);
    }
    return 0;
}

static int add(const struct kind_vary *vary, const struct schema *made, json_t *trial,
               json_t *parameters, struct error *err) {
    AUTO(text_freep) char *reference = x_printf("$(%s)", vary->field);
    bool is_own = tree_mentions(trial, reference);
    AUTO(text_freep) char *path = is_own ? NULL : find_field(made, vary->field);
    AUTO(text_freep) char *name = is_own ? x_strdup(vary->field) : parameter_name(vary->field);
    json_t *parameter = NULL;
    if (!is_own && !path) {
        return error_set(err, ERROR_INVALID,
                         "--vary %s: neither a field of the training (windlass explain), such as "
                         "learningRate or trainer.epochs, nor a $(%s) in it",
                         vary->field, vary->field);
    }
    if (path && json_object_get(schema_at(made, path), "properties")) {
        return error_set(err, ERROR_INVALID, "--vary %s: spec.%s is not one value", vary->field,
                         path);
    }
    if (read_range(vary, &parameter, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *named = json_pack("{s:s}", "name", name);
    json_object_update_new(named, parameter);
    json_array_append(parameters, named);
    if (path) {
        AUTO(text_freep) char *value = x_printf("$(%s)", name);
        put(trial, path, value);
    }
    return 0;
}

/* What the training reports: a trainer its accuracy, if it has classes and test data. */
static int find_metric(const struct kind_sweep *sweep, const json_t *spec, const char **ret_metric,
                       const char **ret_goal, struct error *err) {
    const char *loss = json_string_value(tree_get(spec, "trainer.loss")); /* NULL: the default */
    bool has_loss = (loss && strcmp(loss, "CrossEntropy") != 0) ||
                    tree_get(spec, "trainer.losses") || !tree_get(spec, "trainer.data.test");
    const char *own = tree_text(spec, "metrics.objective", NULL);
    const char *standard = own                                 ? own
                           : !json_object_get(spec, "trainer") ? NULL
                           : has_loss                          ? "loss"
                                                               : "accuracy";
    *ret_metric = sweep->metric ? sweep->metric : standard;
    if (!*ret_metric) {
        return error_set(err, ERROR_INVALID,
                         "--metric NAME is missing: what the program prints, as NAME=VALUE in a "
                         "line of its output; with --goal Maximize or Minimize");
    }
    bool is_loss = strstr(*ret_metric, "loss") || strstr(*ret_metric, "error");
    const char *likely = is_loss ? "Minimize" : "Maximize";
    *ret_goal = sweep->goal ? sweep->goal : tree_text(spec, "metrics.goal", likely);
    return 0;
}

static char *describe(const json_t *object) {
    AUTO(text_freep) char *all = x_strdup("");
    const json_t *parameters = tree_get(object, "spec.parameters"), *one;
    size_t i;
    json_array_foreach(parameters, i, one) {
        AUTO(text_freep) char *before = all;
        const char *how = json_object_iter_key(
            json_object_iter_next((json_t *)one, json_object_iter((json_t *)one)));
        all = x_printf("%s%s%s (%s)", before, i ? ", " : "", tree_text(one, "name", ""), how);
    }
    return x_printf("%lld trials with other %s, by %s (%s)",
                    (long long)tree_integer(object, "spec.maxTrials", 0), all,
                    tree_text(object, "spec.objective.metric", ""),
                    tree_text(object, "spec.objective.goal", ""));
}

int derived_sweep(const struct kind_sweep *sweep, const struct schema *made,
                  struct kind_scored *ret_made, struct error *err) {
    AUTO(tree_freep) json_t *trial = json_deep_copy(json_object_get(sweep->job, "spec"));
    AUTO(tree_freep) json_t *parameters = json_array();
    const char *metric = NULL, *goal = NULL;
    if (strcmp(tree_text(sweep->job, "kind", ""), schema_kind(made)) != 0) {
        return error_set(err, ERROR_INVALID, "a %s is expected, not a %s", schema_kind(made),
                         tree_text(sweep->job, "kind", "resource without a kind"));
    }
    for (size_t i = 0; i < sweep->count; i++) {
        if (add(&sweep->vary[i], made, trial, parameters, err) < 0) {
            return -1;
        }
    }
    if (find_metric(sweep, trial, &metric, &goal, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *name = x_printf("%s-sweep", tree_text(sweep->job, "metadata.name", ""));
    json_t *object =
        json_pack("{s:s, s:s, s:{s:s}, s:{s:{s:s, s:s}, s:O, s:{s:s, s:s}, s:I, s:I, s:O}}",
                  "apiVersion", "windlass.dev/v1beta1", "kind", "Sweep", "metadata", "name", name,
                  "spec", "objective", "metric", metric, "goal", goal, "parameters", parameters,
                  "algorithm", "kind", "Random", "rule", "Sobol", "maxTrials",
                  (json_int_t)(sweep->tries ? sweep->tries : TRIES), "maxConcurrentTrials",
                  (json_int_t)(sweep->at_once ? sweep->at_once : AT_ONCE), "trial", trial);
    *ret_made =
        (struct kind_scored){.object = object,
                             .remarks = json_pack("{s:s, s:s, s:s}", "", about, "spec.parameters",
                                                  about_parameters, "spec.trial", about_trial),
                             .summary = describe(object)};
    return 0;
}
