// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_state.h"

#include "agent/launch/rank/metric_socket.h"
#include "agent/train/dataset/fields.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_BYTES = 300 };

static const double weight_least = 1e-6, weight_most = 1e6;

/* ---- names ---------------------------------------------------------------------------------- */

static const char *output_name(const struct trainer *trainer, size_t output) {
    const char *name = trainer->network->values[trainer->network->outputs[output]].name;
    return name ? name : "";
}

/* The outputs of the network, as far as there is room. */
static void list_outputs(const struct trainer *trainer, char text[static NAMES_BYTES]) {
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < trainer->network->output_count && used < NAMES_BYTES - 70; i++) {
        used += (size_t)snprintf(text + used, NAMES_BYTES - used, "%s\"%.40s\"", i ? ", " : "",
                                 output_name(trainer, i));
    }
}

static int find_output(const struct trainer *trainer, const char *name) {
    for (size_t i = 0; i < trainer->network->output_count; i++) {
        if (strcmp(output_name(trainer, i), name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* ---- the spec ------------------------------------------------------------------------------- */

static bool has_classes(const struct trainer *trainer, int source) {
    const struct dataset *train = trainer->train;
    return source > 0 ? train->extras[source - 1].type == TENSOR_INT64 : train->classes > 0;
}

/* The only loss: of spec.loss, and of the sample's only target. */
static int read_only(struct trainer *trainer, const json_t *spec, struct error *err) {
    struct trainer_head *head = &trainer->heads[0];
    char names[NAMES_BYTES];
    trainer->head_count = 1;
    *head = (struct trainer_head){.weight = 1};
    if (trainer->train->target_name) {
        list_outputs(trainer, names);
        return error_set(err, ERROR_INVALID,
                         "data.train.tensors.outputs: labels by the names of outputs belong to "
                         "losses, which give each output its loss; the network's are %s",
                         names);
    }
    return criterion_read(spec, &head->criterion, err);
}

static int find_targets(struct trainer *trainer, struct trainer_head *head, struct error *err) {
    head->source = dataset_find_target(trainer->train, head->name);
    return head->source >= 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "output \"%.64s\": data.train has no labels of this name; give them in "
                           "data.train.tensors.outputs (other kinds of data have those of one "
                           "output)",
                           head->name);
}

static int read_loss(struct trainer *trainer, const json_t *item, struct error *err) {
    const char *name;
    char names[NAMES_BYTES];
    if (fields_text(item, "output", &name, err) < 0) {
        return -1;
    }
    int output = find_output(trainer, name);
    if (output < 0) {
        list_outputs(trainer, names);
        return error_set(err, ERROR_INVALID,
                         "output: the network has no output \"%.64s\"; it has %s", name, names);
    }
    struct trainer_head *head = &trainer->heads[output];
    if (head->name) {
        return error_set(err, ERROR_INVALID, "output: \"%.64s\" is a duplicate", name);
    }
    *head = (struct trainer_head){.name = output_name(trainer, (size_t)output), .weight = 1};
    if (json_object_get(item, "weight") && fields_number(item, "weight", &head->weight, err) < 0) {
        return -1;
    }
    if (!(head->weight >= weight_least && head->weight <= weight_most)) {
        return error_set(err, ERROR_INVALID, "weight: must be from %g to %g", weight_least,
                         weight_most);
    }
    if (find_targets(trainer, head, err) < 0 || criterion_read(item, &head->criterion, err) < 0) {
        return -1;
    }
    bool is_first = trainer->accuracy_head < 0 && has_classes(trainer, head->source);
    trainer->accuracy_head = is_first ? output : trainer->accuracy_head;
    return 0;
}

/* Labels that no loss reads would be ignored without a word. */
static int check_targets(const struct trainer *trainer, struct error *err) {
    const struct dataset *train = trainer->train;
    for (size_t i = 0; i <= train->extra_count; i++) {
        const char *name = i == 0                           ? train->target_name
                           : train->extras[i - 1].is_target ? train->extras[i - 1].name
                                                            : NULL;
        if (name && find_output(trainer, name) < 0) {
            return error_set(err, ERROR_INVALID,
                             "data.train.tensors.outputs: the network has no output \"%.64s\"; "
                             "take its labels out",
                             name);
        }
    }
    return 0;
}

static int read_several(struct trainer *trainer, const json_t *spec, struct error *err) {
    const json_t *list;
    char names[NAMES_BYTES];
    if (fields_array(spec, "losses", HEADS_MAX, &list, err) < 0) {
        return -1;
    }
    if (trainer->network->output_count > HEADS_MAX) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "losses: the network has %zu outputs, and at most %d are trained: export "
                         "it without the others",
                         trainer->network->output_count, HEADS_MAX);
    }
    trainer->head_count = trainer->network->output_count;
    trainer->accuracy_head = -1;
    list_outputs(trainer, names);
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (read_loss(trainer, json_array_get(list, i), err) < 0) {
            return error_context(err, "losses[%zu]", i);
        }
    }
    for (size_t i = 0; i < trainer->head_count; i++) {
        if (!trainer->heads[i].name) {
            return error_set(
                err, ERROR_INVALID,
                "losses: the output \"%.64s\" of the network has none: give it one, or "
                "export the network without it",
                output_name(trainer, i));
        }
    }
    return check_targets(trainer, err);
}

/* From here on a target beyond 0 to 1 makes a sample a bad one. */
static void mark_shares(const struct trainer *trainer, const struct trainer_head *head) {
    struct dataset *const sets[] = {trainer->train, trainer->test};
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        if (sets[i] && head->source > 0) {
            sets[i]->extras[head->source - 1].is_share = true;
        } else if (sets[i]) {
            sets[i]->has_shares = true;
        }
    }
}

int trainer_read_heads(struct trainer *trainer, const json_t *spec, struct error *err) {
    const json_t *losses = json_object_get(spec, "losses");
    if ((losses ? read_several(trainer, spec, err) : read_only(trainer, spec, err)) < 0) {
        return -1;
    }
    for (size_t i = 0; i < trainer->head_count; i++) {
        const struct trainer_head *head = &trainer->heads[i];
        bool is_class = has_classes(trainer, head->source);
        static const char *const names[] = {"CrossEntropy", "MeanSquared", "BinaryCrossEntropy",
                                            "Huber", "CTC"};
        static_assert(ARRAY_LEN(names) == TRAINING_LOSS_COUNT, "one name per loss");
        if (is_class == training_graph_has_classes(head->criterion.loss)) {
            if (head->criterion.loss == TRAINING_BINARY_CROSS_ENTROPY) {
                mark_shares(trainer, head);
            }
            continue;
        }
        error_set(err, ERROR_INVALID, "loss: %s does not fit targets that are %s",
                  names[head->criterion.loss], is_class ? "classes" : "numbers");
        return head->name ? error_context(err, "losses, output \"%.64s\"", head->name) : -1;
    }
    return 0;
}

/* ---- the graph ------------------------------------------------------------------------------ */

static bool has_ignored(const struct trainer *trainer, size_t head) {
    return trainer->head_count > 1 || trainer->train->counted || trainer->train->is_late ||
           trainer->augment.moves_places || trainer->heads[head].criterion.loss == TRAINING_CTC;
}

void trainer_head_options(const struct trainer *trainer, struct training_options *further,
                          struct training_options *options) {
    for (size_t i = 0; i < trainer->head_count; i++) {
        const struct criterion *loss = &trainer->heads[i].criterion;
        struct training_options *to = i > 0 ? &further[i - 1] : options;
        to->loss = loss->loss;
        to->smoothing = loss->smoothing;
        to->has_ignored = has_ignored(trainer, i);
        to->ignored = trainer->train->ignored;
        to->blank = loss->blank;
        to->class_weights = loss->class_weights;
        to->class_weight_count = loss->class_count;
    }
    options->further = further;
    options->further_count = trainer->head_count - 1;
}

/* ---- targets -------------------------------------------------------------------------------- */

/* The labels of a sample. */
static struct shape places_of(const struct trainer *trainer, size_t head) {
    int source = trainer->heads[head].source;
    return source > 0 ? trainer->train->extras[source - 1].shape : trainer->augment.places;
}

/* For no samples yet. */
static struct shape batch_of(struct shape sample) {
    struct shape batch = {.rank = 1 + sample.rank};
    for (int i = 0; i < sample.rank; i++) {
        batch.dims[i + 1] = sample.dims[i];
    }
    return batch;
}

/* Numbers of a sample as their file has them, if the network's output has as many dimensions: [n],
 * or a picture; else as a row. */
static struct shape numbers_of(const struct trainer *trainer, size_t head) {
    const struct dataset *train = trainer->train;
    const struct value *output = &trainer->network->values[trainer->network->outputs[head]];
    int source = trainer->heads[head].source;
    struct shape own = source > 0 ? train->extras[source - 1].shape : train->target_shape;
    int64_t count = source > 0 ? shape_count(&own) : train->target_count;
    bool fits =
        shape_count(&own) == count && output->has_shape && output->shape.rank == own.rank + 1;
    return fits ? own : (struct shape){1, {count}};
}

struct tensor trainer_head_target(const struct trainer *trainer, size_t head) {
    int source = trainer->heads[head].source;
    if (!has_classes(trainer, source)) {
        return (struct tensor){.type = TENSOR_FLOAT32,
                               .shape = batch_of(numbers_of(trainer, head))};
    }
    return (struct tensor){.type = TENSOR_INT64, .shape = batch_of(places_of(trainer, head))};
}

void *trainer_head_data(const struct trainer *trainer, size_t head, const struct batch *batch) {
    int source = trainer->heads[head].source;
    return source > 0      ? batch->extras[source - 1]
           : batch->labels ? (void *)batch->labels
                           : (void *)batch->targets;
}

struct host_loss_batch trainer_head_compared(const struct trainer *trainer, size_t head,
                                             const struct batch *batch) {
    const struct dataset *test = trainer->test;
    const struct shape places = places_of(trainer, head);
    struct tensor target = trainer_head_target(trainer, head);
    const void *data = trainer_head_data(trainer, head, batch);
    bool is_class = target.type == TENSOR_INT64;
    target.shape.dims[0] = batch->count;
    return (struct host_loss_batch){.settings = &trainer->heads[head].criterion,
                                    .labels = {.samples = batch->count,
                                               .places = shape_count(&places),
                                               .labels = is_class ? data : NULL,
                                               .has_ignored = trainer->head_count > 1 ||
                                                              test->counted || test->is_late ||
                                                              trainer->augment.moves_places,
                                               .ignored = test->ignored},
                                    .target = target.shape,
                                    .numbers = is_class ? NULL : data,
                                    .is_bad = batch->is_bad,
                                    .ending = trainer->graph.losses[head].ending};
}

struct criterion_count trainer_head_count(const struct trainer *trainer, size_t head,
                                          const struct batch *batch) {
    const struct criterion *criterion = &trainer->heads[head].criterion;
    const struct shape places = places_of(trainer, head);
    const int64_t *labels = trainer_head_data(trainer, head, batch);
    const struct criterion_labels all = {.samples = batch->count,
                                         .places = shape_count(&places),
                                         .labels = labels,
                                         .has_ignored = true,
                                         .ignored = trainer->train->ignored};
    if (criterion->loss != TRAINING_CROSS_ENTROPY || criterion_weighs(criterion)) {
        return criterion_count_batch(criterion, &all);
    }
    double counted = 0;
    for (int64_t i = 0; i < all.samples * all.places; i++) {
        counted += labels[i] != all.ignored;
    }
    return (struct criterion_count){counted, counted};
}

/* ---- for people ---------------------------------------------------------------------------- */

void trainer_add_heads(struct trainer *trainer) {
    const float *scalars = trainer->scalars + SCALAR_COUNT;
    for (size_t i = 0; trainer->head_count > 1 && i < trainer->head_count; i++) {
        const struct trainer_head *head = &trainer->heads[i];
        struct head_sums *sums = &trainer->head_sums[i];
        /* The graph's loss is the mean, times the weight. */
        sums->loss += (double)scalars[2 * i] / head->weight * head->counted.weight;
        sums->weight += head->counted.weight;
        sums->correct += (double)scalars[2 * i + 1];
        sums->places += head->counted.places;
    }
}

void trainer_format_heads(const struct trainer *trainer, const struct head_sums *sums,
                          char text[static HEAD_TEXT_MAX]) {
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < trainer->head_count; i++) {
        char loss[32] = "unknown", accuracy[48] = "";
        bool is_class = has_classes(trainer, trainer->heads[i].source);
        if (sums[i].weight > 0) {
            snprintf(loss, sizeof loss, "%.4f", sums[i].loss / sums[i].weight);
        }
        if (is_class && sums[i].places > 0) {
            snprintf(accuracy, sizeof accuracy, " (accuracy %.4f)",
                     sums[i].correct / sums[i].places);
        }
        used += (size_t)snprintf(text + used, HEAD_TEXT_MAX - used, "%s%.40s %s%s", i ? ", " : "",
                                 trainer->heads[i].name, loss, accuracy);
    }
}

void trainer_send_heads(const struct trainer *trainer) {
    for (size_t i = 0; trainer->head_count > 1 && i < trainer->head_count; i++) {
        const struct head_sums *sums = &trainer->head_sums[i];
        char name[METRIC_NAME_MAX + 1];
        snprintf(name, sizeof name, "windlass.losses.%.40s", trainer->heads[i].name);
        if (sums->weight > 0) {
            metric_send(name, sums->loss / sums->weight, trainer->step);
        }
    }
}
