// SPDX-License-Identifier: Apache-2.0
/* Finds out what a training needs: the network, the data and their places. */
#include "operator/commands/train/train_request.h"

#include "lib/file.h"
#include "lib/text/nearest.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/score/score_ask.h"
#include "operator/commands/score/score_header.h"
#include "operator/commands/score/score_place.h"
#include "operator/commands/score/score_set.h"
#include "operator/commands/train/train_data.h"
#include "operator/manifest_write.h"
#include "operator/resource.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PICTURE_SIZE = 224 /* of new networks for pictures of any size */ };

static const char *const fresh[] = {"CNN", "MLP", "ResNet18", "ResNet50"};
static const char *const form_names[] = {
    [KIND_DATA_IDX] = "files of MNIST's form",
    [KIND_DATA_CIFAR] = "files of CIFAR's form",
    [KIND_DATA_FOLDER] = "a folder of pictures",
    [KIND_DATA_TENSORS] = "arrays (.npy)",
    [KIND_DATA_WEBDATASET] = "tars",
    [KIND_DATA_TABLE] = "a table",
};

struct work {
    json_t *asked, *columns, *shape, *header;
    struct train_data train, test;
    struct score_places places;
    char *model, *output, *train_path, *train_labels, *test_path, *test_labels; /* as in volumes */
    const char *fresh, *label;
    int64_t size;
};

static void work_release(struct work *work) {
    json_decref(work->asked);
    json_decref(work->columns);
    json_decref(work->shape);
    json_decref(work->header);
    train_data_release(&work->train);
    train_data_release(&work->test);
    score_places_release(&work->places);
    char *all[] = {work->model,        work->output,    work->train_path,
                   work->train_labels, work->test_path, work->test_labels};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        free(all[i]);
    }
}

/* ---- the options --------------------------------------------------------------------------- */

enum { NUMBERS = 4 };

static const char *const number_names[NUMBERS] = {"classes", "epochs", "batch", "workers"};

static void numbers_of(struct train_request *request, int64_t *ret_numbers[NUMBERS]) {
    int64_t *const numbers[NUMBERS] = {&request->classes, &request->epochs, &request->batch,
                                       &request->workers};
    memcpy(ret_numbers, numbers, sizeof numbers);
}

void train_request_init(struct train_request *request) {
    int64_t *numbers[NUMBERS];
    *request = (struct train_request){0};
    numbers_of(request, numbers);
    for (size_t i = 0; i < NUMBERS; i++) {
        *numbers[i] = KIND_UNSET;
    }
}

int train_request_check(struct train_request *request, struct error *err) {
    int64_t *numbers[NUMBERS];
    numbers_of(request, numbers);
    for (size_t i = 0; i < NUMBERS; i++) {
        if (*numbers[i] == KIND_UNSET) {
            *numbers[i] = 0;
        } else if (*numbers[i] < 1) {
            return error_set(err, ERROR_INVALID, "--%s %lld: expected 1 or more", number_names[i],
                             (long long)*numbers[i]);
        }
    }
    return 0;
}

int train_request_without(const struct train_request *request, const char *manifest,
                          struct error *err) {
    const struct {
        const char *name;
        bool is_given;
    } rows[] = {{"output", request->output},       {"test", request->test.count > 0},
                {"label", request->label},         {"columns", request->columns},
                {"classes", request->classes > 0}, {"shape", request->shape},
                {"epochs", request->epochs > 0},   {"batch", request->batch > 0},
                {"optimizer", request->optimizer}, {"rate", request->rate}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].is_given) {
            return error_set(err, ERROR_INVALID,
                             "--%s: is given by %s; change a field of that by --set FIELD=VALUE",
                             rows[i].name, manifest);
        }
    }
    return 0;
}

/* ---- the network ---------------------------------------------------------------------------- */

/* Height and width of the pictures that a network takes; 0: of any size, or no pictures. */
static int64_t size_of_network(const json_t *facts) {
    const json_t *shape = tree_get(facts, "inputs[0].shape");
    int64_t height = json_integer_value(json_array_get(shape, 2));
    bool takes = strcmp(tree_text(facts, "items", ""), "picture") == 0 &&
                 json_array_size(shape) == 4 &&
                 height == json_integer_value(json_array_get(shape, 3));
    return takes ? MAX(height, 0) : 0;
}

static int find_network(const char *word, struct work *work, struct error *err) {
    for (size_t i = 0; i < ARRAY_LEN(fresh); i++) {
        if (strcmp(fresh[i], word) == 0) {
            work->fresh = fresh[i];
            return 0;
        }
    }
    AUTO(text_freep) char *found = realpath(word, NULL);
    AUTO(tree_freep) json_t *facts = NULL;
    if (!found || access(found, R_OK) < 0) {
        const char *near = nearest_word(fresh, ARRAY_LEN(fresh), word);
        return error_set(err, ERROR_INVALID,
                         "%s: neither a file nor a new network; give an ONNX file, or one of CNN, "
                         "MLP, ResNet18 and ResNet50%s%s%s",
                         word, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    if (score_ask(found, &facts, err) < 0) {
        return error_context(err, "%s", word);
    }
    work->size = size_of_network(facts);
    work->model = score_place(&work->places, "model", found);
    return 0;
}

/* ---- the data ------------------------------------------------------------------------------- */

static void place_set(struct work *work, const struct train_data *data, const char *volume,
                      char **ret_path, char **ret_labels) {
    *ret_path = data->path ? score_place(&work->places, volume, data->path) : NULL;
    AUTO(text_freep) char *other = x_printf("%s-labels", volume);
    *ret_labels = data->labels ? score_place(&work->places, other, data->labels) : NULL;
}

/* --label, or a column that is called so. */
static int find_label(const struct train_request *request, struct work *work, struct error *err) {
    static const char *const usual[] = {"label", "class", "target", "y", "Label", "Class"};
    work->label = request->label;
    if (work->train.form != KIND_DATA_TABLE) {
        return request->label
                   ? error_set(err, ERROR_INVALID,
                               "--label %s: only a table (.csv, .tsv, .jsonl, .parquet) has "
                               "columns, and %s is not a table",
                               request->label, work->train.path)
                   : 0;
    }
    if (!file_is_folder(work->train.path) &&
        score_header_read(work->train.path, work->train.table_format, &work->header, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(usual) && !work->label; i++) {
        work->label = tree_has_text(work->header, usual[i]) ? usual[i] : NULL;
    }
    return work->label ? 0
                       : error_set(err, ERROR_INVALID,
                                   "--label COLUMN is missing: the table's column with the class, "
                                   "a whole number from 0");
}

static void find_columns(const struct train_request *request, struct work *work) {
    const json_t *name;
    size_t i;
    if (request->columns) {
        work->columns = score_split(request->columns);
        return;
    }
    if (!work->label || !work->header) {
        return;
    }
    work->columns = json_array();
    json_array_foreach(work->header, i, name) {
        if (strcmp(json_string_value(name), work->label) != 0) {
            json_array_append(work->columns, (json_t *)name);
        }
    }
}

static int find_shape(const struct train_request *request, struct work *work, struct error *err) {
    const int64_t *known = work->train.pictures;
    bool is_folder = work->train.form == KIND_DATA_FOLDER;
    long long given[3];
    char rest;
    if (request->shape &&
        sscanf(request->shape, "%lld,%lld,%lld%c", &given[0], &given[1], &given[2], &rest) != 3) {
        return error_set(err, ERROR_INVALID, "--shape %s: expected three numbers: 3,224,224",
                         request->shape);
    }
    if (request->shape) {
        work->shape = json_pack("[I, I, I]", (json_int_t)given[0], (json_int_t)given[1],
                                (json_int_t)given[2]);
    } else if (known[0] > 0) {
        work->shape = json_pack("[I, I, I]", (json_int_t)known[0], (json_int_t)known[1],
                                (json_int_t)known[2]);
    } else if (is_folder && work->fresh) {
        work->shape = json_pack("[i, i, i]", 3, PICTURE_SIZE, PICTURE_SIZE);
    }
    if (work->fresh && is_folder) {
        work->size = json_integer_value(json_array_get(work->shape, 1));
    } else if (!is_folder && work->train.form != KIND_DATA_WEBDATASET) {
        work->size = 0; /* they are of one size */
    }
    return 0;
}

static int find_data(const struct train_request *request, const struct option_list *words,
                     struct work *work, struct error *err) {
    if (train_data_find(words->values + 1, words->count - 1, &work->train, &work->test, err) < 0) {
        return -1;
    }
    if (request->test.count > 0) {
        struct train_data ignored = {0};
        train_data_release(&work->test);
        if (train_data_find(request->test.values, request->test.count, &work->test, &ignored, err) <
            0) {
            return error_context(err, "--test");
        }
        train_data_release(&ignored);
        if (work->test.form != work->train.form) {
            return error_set(
                err, ERROR_INVALID, "--test %s: is %s, expected %s, as the training data",
                request->test.values[0], form_names[work->test.form], form_names[work->train.form]);
        }
    }
    if (work->fresh && work->train.form == KIND_DATA_TABLE) {
        return error_set(err, ERROR_INVALID,
                         "%s: a new network takes pictures; for a table give an ONNX file with an "
                         "input [n, columns]",
                         work->fresh);
    }
    if (find_label(request, work, err) < 0) {
        return -1;
    }
    find_columns(request, work);
    place_set(work, &work->train, "data", &work->train_path, &work->train_labels);
    place_set(work, &work->test, "test", &work->test_path, &work->test_labels);
    return find_shape(request, work, err);
}

/* ---- the rest ------------------------------------------------------------------------------- */

static int place_output(const struct train_request *request, struct work *work, char **ret_base,
                        struct error *err) {
    if (!request->output) {
        return error_set(err, ERROR_INVALID, "-o DIR is missing: where model.onnx goes");
    }
    if (file_make_folders(request->output, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *found = realpath(request->output, NULL);
    if (!found) {
        return error_set(err, ERROR_INVALID, "-o %s: %m", request->output);
    }
    *ret_base = cli_command_job_name(file_basename(found));
    work->output = score_place(&work->places, "out", found);
    return 0;
}

static int read_asked(const struct train_request *request, struct work *work, struct error *err) {
    const struct {
        const char *field;
        int64_t value;
    } numbers[] = {{"trainer.epochs", request->epochs}, {"trainer.batchSize", request->batch}};
    work->asked = json_object();
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (numbers[i].value &&
            score_set(work->asked, numbers[i].field, json_integer(numbers[i].value), err) < 0) {
            return -1;
        }
    }
    AUTO(text_freep)
    char *rate =
        request->rate ? x_printf("trainer.optimizer.learningRate=%s", request->rate) : NULL;
    if ((rate && score_set_word(work->asked, rate, err) < 0) ||
        (request->optimizer && score_set(work->asked, "trainer.optimizer.kind",
                                         json_string(request->optimizer), err) < 0)) {
        return -1;
    }
    return score_set_words(work->asked, &request->sets, err);
}

static bool trains(const struct kind_row *row) {
    return row->train;
}

int train_request_make(const struct train_request *request, const struct option_list *words,
                       struct kind_scored *ret_made, struct error *err) {
    AUTO(work_release) struct work work = {0};
    AUTO(text_freep) char *base = NULL;
    const struct kind_row *row = kinds_having(trains);
    if (!row) {
        return error_set(err, ERROR_UNSUPPORTED, "no kind of this build trains");
    }
    if (score_places_begin(&work.places, err) < 0 ||
        find_network(words->values[0], &work, err) < 0 ||
        find_data(request, words, &work, err) < 0 || place_output(request, &work, &base, err) < 0 ||
        read_asked(request, &work, err) < 0) {
        return -1;
    }
    const struct kind_train job = {.name = request->name ? request->name : base,
                                   .output = work.output,
                                   .model = work.model,
                                   .fresh = work.fresh,
                                   .data = work.train.form,
                                   .train = {work.train_path, work.train_labels},
                                   .test = {work.test_path, work.test_labels},
                                   .table_format = work.train.table_format,
                                   .label = work.label,
                                   .columns = work.columns,
                                   .classes =
                                       request->classes ? request->classes : work.train.classes,
                                   .shape = work.shape,
                                   .size = work.size,
                                   .workers = request->workers,
                                   .asked = work.asked,
                                   .volumes = work.places.volumes};
    return row->train(&job, ret_made, err);
}

int train_request_text(const struct kind_scored *made, char **ret_text, struct error *err) {
    AUTO(tree_freep) json_t *checked = NULL;
    *ret_text = manifest_write(made->object, made->remarks);
    return resource_parse("the manifest of it", *ret_text, strlen(*ret_text), &checked, err);
}
