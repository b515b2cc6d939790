// SPDX-License-Identifier: Apache-2.0
/* Makes a manifest of files and options, and runs it: `windlass run` does the work. */
#include "operator/commands/train/train.h"

#include "lib/file.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/run/run_text.h"
#include "operator/commands/score/score_set.h"
#include "operator/commands/train/train_request.h"
#include "operator/kinds/job/parameters/parameters.h"
#include "operator/resource.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VARY_MAX = 32 };

struct request {
    struct train_request train;
    struct option_list vary;
    const char *metric, *goal;
    int64_t tries, at_once;
};

/* workers: of a training its manifest has them. */
static int finish(const struct train_request *request, const char *workers, const char *text,
                  int *ret_code, struct error *err) {
    const struct run_text run = {.manifest = text,
                                 .options = {{"--state", request->state}, {"--workers", workers}},
                                 .restarts = request->restarts};
    return run_text_run_or_save(&run, request->save, ret_code, err);
}

/* The network has no range of its input: the trainer gives it bytes of pictures as 0 to 1. */
static const char *range_of(const json_t *manifest) {
    static const char *const pictures[] = {"folder", "idx", "cifar", "webdataset"};
    const json_t *data = tree_get(manifest, "spec.trainer.data");
    bool are_pictures = false;
    for (size_t i = 0; i < ARRAY_LEN(pictures); i++) {
        are_pictures |= json_object_get(json_object_get(data, "train"), pictures[i]) != NULL;
    }
    return are_pictures && !json_object_get(data, "normalize") ? " --range Unit" : "";
}

/* ---- one training --------------------------------------------------------------------------- */

static int run_train(void *context, const struct option_list *words, int *ret_code,
                     struct error *err) {
    struct train_request *request = context;
    AUTO(kind_scored_release) struct kind_scored made = {0};
    AUTO(text_freep) char *text = NULL;
    if (train_request_check(request, err) < 0 ||
        train_request_make(request, words, &made, err) < 0 ||
        train_request_text(&made, &text, err) < 0) {
        return -1;
    }
    fprintf(stderr, "windlass: trains %s; model.onnx goes to %s\n", made.summary, request->output);
    if (finish(request, NULL, text, ret_code, err) < 0) {
        return -1;
    }
    if (!request->save && *ret_code == 0) {
        printf("next: windlass score %s/model.onnx INPUT... -o DIR%s\n", request->output,
               range_of(made.object));
    }
    return 0;
}

int train_without_manifest(int argc, char **argv) {
    struct train_request request;
    train_request_init(&request);
    static const struct command_help help = {
        .usage = "windlass train NETWORK DATA [LABELS] -o DIR [options]",
        .about =
            "Trains a network on this machine, without a manifest. NETWORK is an ONNX file, whose\n"
            "training goes on, or a new CNN, MLP, ResNet18 or ResNet50. DATA is a folder with a\n"
            "folder of pictures for each class, MNIST's or CIFAR's files, tars (WebDataset), a\n"
            "table with --label, or two arrays, samples.npy labels.npy. The form is detected and\n"
            "printed in one line; where that fails, the error names the option to set.\n"
            "\n"
            "--save writes the manifest instead: `windlass run -f` does the same with it, and\n"
            "so does a cluster that has these volumes.",
        .examples = "windlass train CNN fashion-mnist/data -o model\n"
                    "windlass train resnet18.onnx photos -o model --epochs 3 --rate 0.0001\n"
                    "windlass train mlp.onnx rows.csv --label quality -o model --save job.yaml",
        .words_min = 2,
        .words_max = 3,
    };
    const struct option options[] = {TRAIN_ROWS(&request), {0}};
    const struct cli_command command = {
        .name = "train", .help = &help, .options = options, .run = run_train, .context = &request};
    return cli_command_run(&command, argc, argv);
}

/* ---- many of them --------------------------------------------------------------------------- */

static bool sweeps(const struct kind_row *row) {
    return row->sweep;
}

static bool is_manifest(const char *word) {
    return text_ends(word, ".yaml") || text_ends(word, ".yml") || text_ends(word, ".json");
}

static int take_only(void *context, const struct resource_read *read, struct error *err) {
    json_t **job = context;
    if (!read->object) {
        *err = *read->why;
        return -1;
    }
    if (*job) {
        return error_set(err, ERROR_INVALID, "more than one resource, expected exactly one");
    }
    AUTO(tree_freep) json_t *filled = parameters_fill(read->written);
    *job = json_deep_copy(filled ? filled : read->written);
    json_t *volumes = tree_get(read->object, "spec.volumes");
    if (volumes) { /* folders beside the file, too */
        json_object_set(json_object_get(*job, "spec"), "volumes", volumes);
    }
    return 0;
}

/* The training's manifest: of a file, or of a network and data; owned. */
static int find_job(const struct request *request, const struct option_list *words,
                    json_t **ret_job, struct error *err) {
    AUTO(kind_scored_release) struct kind_scored made = {0};
    const char *file = words->values[0];
    if (!is_manifest(file)) {
        if (words->count < 2) {
            return error_set(err, ERROR_INVALID,
                             "%s: a manifest (.yaml), or NETWORK and DATA as for windlass train",
                             file);
        }
        if (train_request_make(&request->train, words, &made, err) < 0) {
            return -1;
        }
        *ret_job = json_incref(made.object);
        return 0;
    }
    const struct resource_source source = {.path = file, .use = RESOURCE_LOCAL};
    if (words->count > 1) {
        return error_set(err, ERROR_INVALID, "%s: a manifest says what the data is", file);
    }
    if (train_request_without(&request->train, file, err) < 0 ||
        resource_load_each(&source, take_only, ret_job, err) < 0) {
        return -1;
    }
    if (request->train.name) {
        json_object_set_new(tree_ensure_object(*ret_job, "metadata"), "name",
                            json_string(request->train.name));
    }
    return score_set_words(*ret_job, &request->train.sets, err);
}

static int read_vary(const struct request *request, struct kind_vary *vary, char **fields,
                     struct error *err) {
    if (request->vary.count == 0) {
        return error_set(err, ERROR_INVALID,
                         "--vary FIELD=MIN..MAX or FIELD=A,B,C is missing, such as "
                         "--vary learningRate=0.001..0.3");
    }
    for (size_t i = 0; i < request->vary.count; i++) {
        const char *word = request->vary.values[i], *equals = strchr(word, '=');
        if (!equals || equals == word || !equals[1]) {
            return error_set(err, ERROR_INVALID,
                             "--vary %s: expected FIELD=MIN..MAX or FIELD=A,B,C", word);
        }
        fields[i] = x_strndup(word, (size_t)(equals - word));
        vary[i] = (struct kind_vary){fields[i], equals + 1};
    }
    return 0;
}

static int make_all(const struct request *request, const json_t *job, struct kind_scored *ret_made,
                    struct error *err) {
    AUTO(schema_freep) struct schema *made = NULL;
    const struct kind_row *row = kinds_having(sweeps);
    struct kind_vary vary[VARY_MAX];
    char *fields[VARY_MAX] = {0};
    if (!row || kinds_children_schema(row, &made, err) < 0) {
        return row ? -1 : error_set(err, ERROR_UNSUPPORTED, "no kind of this build tries values");
    }
    if (request->vary.count > VARY_MAX) {
        return error_set(err, ERROR_INVALID, "--vary: at most %d fields", VARY_MAX);
    }
    struct kind_sweep sweep = {.job = job,
                               .vary = vary,
                               .count = request->vary.count,
                               .metric = request->metric,
                               .goal = request->goal,
                               .tries = request->tries,
                               .at_once = request->at_once};
    int result =
        read_vary(request, vary, fields, err) < 0 ? -1 : row->sweep(&sweep, made, ret_made, err);
    for (size_t i = 0; i < VARY_MAX; i++) {
        free(fields[i]);
    }
    return result;
}

/* Volumes of a manifest are folders beside it, so the run's folder is the manifest's. *ret_state:
 * --state as seen from there; owned. */
static int go_beside(const char *file, const char *state, char **ret_state, struct error *err) {
    const char *base = file_basename(file);
    AUTO(text_freep) char *here = realpath(".", NULL);
    AUTO(text_freep) char *folder = x_printf("%.*s.", (int)(base - file), file);
    *ret_state = !state || *state == '/' ? x_strdup(state) : x_printf("%s/%s", here, state);
    return here && chdir(folder) == 0 ? 0 : error_from_errno(err, errno, "cannot enter %s", folder);
}

static int run_all(void *context, const struct option_list *words, int *ret_code,
                   struct error *err) {
    struct request *request = context;
    AUTO(kind_scored_release) struct kind_scored made = {0};
    AUTO(tree_freep) json_t *job = NULL;
    AUTO(text_freep) char *text = NULL;
    if (train_request_check(&request->train, err) < 0 || find_job(request, words, &job, err) < 0 ||
        make_all(request, job, &made, err) < 0 || train_request_text(&made, &text, err) < 0) {
        return -1;
    }
    fprintf(stderr, "windlass: %s\n", made.summary);
    AUTO(text_freep)
    char *workers =
        request->train.workers ? x_printf("%lld", (long long)request->train.workers) : NULL;
    struct train_request rest = request->train;
    AUTO(text_freep) char *state = NULL;
    if (is_manifest(words->values[0]) && !rest.save) {
        if (go_beside(words->values[0], rest.state, &state, err) < 0) {
            return -1;
        }
        rest.state = state;
    }
    return finish(&rest, workers, text, ret_code, err);
}

int train_many_without_manifest(int argc, char **argv) {
    struct request request = {0};
    train_request_init(&request.train);
    static const struct command_help help = {
        .usage = "windlass sweep FILE.yaml --vary FIELD=RANGE [options]\n"
                 "       windlass sweep NETWORK DATA [LABELS] -o DIR --vary FIELD=RANGE [options]",
        .about =
            "Repeats a training with other values of some fields, on this machine, without a\n"
            "manifest of that: the training is a manifest, or NETWORK and DATA as in `windlass\n"
            "train`. FIELD is a field of the training, such as learningRate, or NAME of a $(NAME)\n"
            "in its command. RANGE is MIN..MAX or A,B,C. At the end there is a table of all tries\n"
            "and a page with charts of them.\n"
            "\n"
            "--save writes the manifest instead.",
        .examples = "windlass sweep train.yaml --vary learningRate=0.001..0.3 --tries 12\n"
                    "windlass sweep CNN fashion-mnist/data -o tried --vary batchSize=32,64,128",
        .words_min = 1,
        .words_max = 3,
    };
    const struct option options[] = {
        {"vary", 0, OPTION_LIST, "FIELD=RANGE", "A field to vary; may be repeated.", &request.vary},
        {"tries", 'n', OPTION_INTEGER, "N", "How many (default: 20).", &request.tries},
        {"at-once", 0, OPTION_INTEGER, "N", "How many at the same time (default: 4).",
         &request.at_once},
        {"metric", 0, OPTION_TEXT, "NAME",
         "What is compared (default: accuracy, or loss without test data).", &request.metric},
        {"goal", 0, OPTION_TEXT, "GOAL", "Maximize or Minimize (default: by the metric's name).",
         &request.goal},
        TRAIN_ROWS(&request.train),
        {0},
    };
    const struct cli_command command = {
        .name = "sweep", .help = &help, .options = options, .run = run_all, .context = &request};
    return cli_command_run(&command, argc, argv);
}
