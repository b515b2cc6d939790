// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/check.h"

#include "lib/options.h"
#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/batchscore/pods.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/disttrain/reconcile.h"
#include "operator/kinds/sweep/reconcile.h"
#include "operator/kinds/sweep/registrar.h"
#include "operator/kinds/sweep/trial.h"
#include "operator/resource.h"

#include <stdio.h>
#include <string.h>

static const struct command_help help = {
    .usage = "windlass check -f FILE [--show | --pods]",
    .about = "Checks a manifest as a cluster does: fields, types, bounds and the rules between\n"
             "fields. Says OK, or what is wrong and in which line (exit code 2). What this version "
             "does\n"
             "not carry out yet is refused by its name; --show and --pods show it all the same.",
    .examples = "windlass check -f examples/style-transfer/batchscore.yaml --show",
};

static void print(const json_t *tree) {
    AUTO(text_freep) char *text = json_dumps(tree, JSON_INDENT(2));
    printf("%s\n", text);
}

/* The coordinator and the first worker. */
static int score_pods_of(const json_t *object, const struct endpoint *endpoint, json_t **ret_pods,
                         struct error *err) {
    AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
    if (batchscore_spec_read(object, NULL, &spec, err) < 0) {
        return -1;
    }
    *ret_pods = json_pack("[o, o]", pods_coordinator(&spec, endpoint, 1),
                          pods_worker(&spec, endpoint, 0, 1));
    return 0;
}

/* The first two of the gang: which leads, and which follows it. */
static int gang_pods_of(const json_t *object, const struct endpoint *endpoint, json_t **ret_pods,
                        struct error *err) {
    static const struct restarts none = {0};
    AUTO(disttrain_spec_release) struct disttrain_spec spec = {0};
    if (disttrain_spec_read(object, NULL, &spec, err) < 0) {
        return -1;
    }
    *ret_pods = json_pack("[o]", pods_member(&spec, endpoint, 0, 1, &none, NULL));
    if (spec.workers > 1) {
        json_array_append_new(*ret_pods, pods_member(&spec, endpoint, 1, 1, &none, NULL));
    }
    return 0;
}

/* The pod that would register the first trial's model. */
static int add_registrar(const struct sweep_spec *spec, const struct schema *train,
                         const double *units, json_t *pods, struct error *err) {
    AUTO(tree_freep)
    json_t *best = json_pack("{s:i, s:o}", "index", 0, "values", space_values(&spec->space, units));
    json_t *pod = NULL;
    if (!spec->registered) {
        return 0;
    }
    if (registrar_pod(spec, train, NULL, best, 1, 0, &pod, err) < 0) {
        return -1;
    }
    json_array_append_new(pods, pod);
    return 0;
}

/* Those of its first trial. */
static int trial_pods_of(const json_t *object, const struct endpoint *endpoint, json_t **ret_pods,
                         struct error *err) {
    AUTO(schema_freep) struct schema *train = NULL;
    struct sweep_spec spec;
    struct points points;
    double units[SPACE_PARAMETERS_MAX];
    if (resource_schema(disttrain_kind.api_version, disttrain_kind.name, &train, err) < 0 ||
        sweep_spec_read(object, &spec, err) < 0) {
        return -1;
    }
    points_init(&points, &spec.space, spec.search, spec.seed);
    points_at(&points, 0, units);
    AUTO(tree_freep) json_t *trial = trial_make(&spec, train, 0, units);
    schema_fill_defaults(train, trial);
    return gang_pods_of(trial, endpoint, ret_pods, err) < 0
               ? -1
               : add_registrar(&spec, train, units, *ret_pods, err);
}

/* What is only known in the cluster is told by a word in its place. */
static int print_pods(const json_t *object, struct error *err) {
    static const struct endpoint endpoint = {.address = "SERVICE-ADDRESS",
                                             .port = JOB_PORT,
                                             .certificate_sha256 = "CERTIFICATE-SHA256",
                                             .secret = "secret-of-the-job"};
    AUTO(tree_freep) json_t *pods = NULL;
    const char *kind = tree_text(object, "kind", "");
    bool is_gang = strcmp(kind, disttrain_kind.name) == 0;
    bool is_sweep = strcmp(kind, sweep_kind.name) == 0;
    if ((is_sweep  ? trial_pods_of(object, &endpoint, &pods, err)
         : is_gang ? gang_pods_of(object, &endpoint, &pods, err)
                   : score_pods_of(object, &endpoint, &pods, err)) < 0) {
        return -1;
    }
    AUTO(tree_freep)
    json_t *list = json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", pods);
    print(list);
    return 0;
}

static int check(const char *file, bool show, bool pods, struct error *err) {
    AUTO(tree_freep) json_t *object = NULL;
    if (!file) {
        return error_set(err, ERROR_INVALID, "-f FILE is missing: which manifest? (--help)");
    }
    int result =
        show || pods ? resource_load(file, &object, err) : resource_load_today(file, &object, err);
    if (result < 0) {
        return -1;
    }
    if (pods) {
        return print_pods(object, err);
    }
    if (show) {
        print(object);
    } else {
        printf("%s: %s %s is OK\n", file, tree_text(object, "kind", ""),
               tree_text(object, "metadata.name", ""));
    }
    return 0;
}

int check_command(int argc, char **argv) {
    const char *file = NULL;
    bool show = false, pods = false;
    const struct option options[] = {
        {"file", 'f', OPTION_TEXT, "FILE", "The manifest (YAML or JSON).", &file},
        {"show", 0, OPTION_FLAG, NULL, "Print the resource as JSON, with its defaults.", &show},
        {"pods", 0, OPTION_FLAG, NULL,
         "Print the first two pods that it would get, as JSON: coordinator and worker, or two "
         "workers; of a Sweep those of its first trial, and the one that registers.",
         &pods},
        {0},
    };
    struct option_list words = {0};
    struct error err = {0};
    int result = options_read(argc, argv, &help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || check(file, show, pods, &err) < 0) {
        fprintf(stderr, "windlass check: %s\n", err.text);
        return err.kind == ERROR_NOT_FOUND ? 2 : error_exit_code(&err);
    }
    return 0;
}
