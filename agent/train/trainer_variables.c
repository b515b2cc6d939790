// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_variables.h"

#include "agent/launch/rank/metric_socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_BYTES = 600, NAMED_MAX = 4 };

#define EXPORT "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False"

/* Why a constant is not trained. */
static const char *const reasons[ROLE_COUNT] = {
    [ROLE_FROZEN] = "by model.freeze",
    [ROLE_STATISTIC] = "statistics of norms, averaged unless the norm is frozen",
    [ROLE_LITERAL] = "parts of the formula: constants, buffers, what norms do not learn",
    [ROLE_NUMBER] = "single numbers that no operator reads as a weight",
    [ROLE_MASK] = "masks, which hold infinities",
    [ROLE_SETTING] = "settings of operators",
};

/* A list that ends with how many more there are, if it gets long. */
static void list_names(const struct trainer *trainer, enum role role,
                       char names[static NAMES_BYTES]) {
    const struct roles *roles = &trainer->graph.roles;
    size_t used = 0, left_out = 0;
    names[0] = 0;
    for (size_t i = 0; i < roles->count; i++) {
        const char *name = trainer->network->values[roles->constants[i].value].name;
        if (roles->constants[i].role != role) {
            continue;
        }
        if (left_out || used + strlen(name) + 40 > NAMES_BYTES) {
            left_out++;
            continue;
        }
        used += (size_t)snprintf(names + used, NAMES_BYTES - used, "%s%s", used ? ", " : "", name);
    }
    if (left_out) {
        snprintf(names + used, NAMES_BYTES - used, " and %zu more", left_out);
    }
}

/* Trained, and what model.freeze names as well. */
static void count(const struct trainer *trainer, struct role_amount *ret_trained,
                  struct role_amount *ret_all) {
    const struct roles *roles = &trainer->graph.roles;
    struct role_amount frozen = roles_amount(roles, trainer->network, ROLE_FROZEN);
    *ret_trained = *ret_all = roles_amount(roles, trainer->network, ROLE_VARIABLE);
    ret_all->tensors += frozen.tensors;
    ret_all->elements += frozen.elements;
}

static bool is_trained(const struct trainer *trainer, const char *name) {
    const struct roles *roles = &trainer->graph.roles;
    for (size_t i = 0; i < roles->count; i++) {
        if (strcmp(trainer->network->values[roles->constants[i].value].name, name) == 0) {
            return roles->constants[i].role == ROLE_VARIABLE;
        }
    }
    return false;
}

/* Up to NAMED_MAX of a list, and how many more there are. */
static void print_list(const struct trainer *trainer, const char *what, const char *advice,
                       const struct forms_list *list) {
    char names[NAMES_BYTES] = "";
    size_t used = 0, named = MIN(list->count, NAMED_MAX);
    for (size_t i = 0; i < named; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.80s", i ? ", " : "",
                                 list->names[i]);
    }
    if (list->count > named) {
        snprintf(names + used, sizeof names - used, " and %zu more", list->count - named);
    }
    if (list->count) {
        trainer_say(trainer, "%s (%zu): %s; %s", what, list->count, names, advice);
    }
}

/* Without those that model.freeze names, masks and settings. */
static void print_trained(const struct trainer *trainer, const char *what, const char *advice,
                          const struct forms_list *list) {
    struct forms_list trained = {.names = x_calloc(list->count + 1, sizeof *trained.names)};
    for (size_t i = 0; i < list->count; i++) {
        if (is_trained(trainer, list->names[i])) {
            trained.names[trained.count++] = list->names[i];
        }
    }
    print_list(trainer, what, advice, &trained);
    free(trained.names);
}

void trainer_say_forms(const struct trainer *trainer) {
    const struct forms *forms = &trainer->forms;
    if (forms->norms + forms->dropouts + forms->outputs > 0) {
        trainer_say(trainer,
                    "the network was exported for training; it is trained, and written, in the "
                    "form of inference: BatchNormalization (%zu), Dropout (%zu), outputs left out "
                    "(%zu)",
                    forms->norms, forms->dropouts, forms->outputs);
    }
    print_list(
        trainer, "the exporter has folded a BatchNormalization into these convolutions",
        "its statistics are frozen in their weights, which are trained with their biases; to "
        "train the norms themselves, export with " EXPORT,
        &forms->folded);
    print_list(
        trainer, "tied weights, each trained as one with another of equal elements",
        "the exporter ties layers that are only copies of one, as nn.TransformerEncoder makes "
        "them, too: to train these apart, export with " EXPORT,
        &forms->tied);
    print_list(trainer, "norms that keep their statistics",
               "they were in eval() when others were in train(): to have these averaged, too, "
               "export with all of them in train()",
               &forms->kept);
    print_trained(
        trainer,
        "the exporter has computed these, each from a parameter or a buffer (the file does "
        "not say which), and they are trained as weights of their own",
        "name a buffer in model.freeze; if one is a formula of a parameter (a norm, a sum), "
        "export with " EXPORT,
        &forms->computed);
    print_trained(
        trainer,
        "these look like buffers, by name or because a formula can have made their numbers, "
        "and they are trained as weights",
        "a file does not say which tensors the module trains: name the others in "
        "model.freeze (docs/training/buffers.md prints them)",
        &forms->buffers);
}

void trainer_send_variables(const struct trainer *trainer) {
    struct role_amount trained, all;
    count(trainer, &trained, &all);
    metric_send("windlass.trained.tensors", (double)trained.tensors, -1);
    metric_send("windlass.trained.ofTensors", (double)all.tensors, -1);
    metric_send("windlass.trained.parameters", (double)trained.elements, -1);
    metric_send("windlass.trained.ofParameters", (double)all.elements, -1);
}

void trainer_say_variables(const struct trainer *trainer) {
    char names[NAMES_BYTES];
    struct role_amount trained, all;
    count(trainer, &trained, &all);
    list_names(trainer, ROLE_FROZEN, names);
    trainer_say(trainer, "%zu of %zu tensors, %lld of %lld parameters are trained; frozen: %s",
                trained.tensors, all.tensors, (long long)trained.elements, (long long)all.elements,
                *names ? names : "none");
    for (int role = ROLE_STATISTIC; role < ROLE_COUNT; role++) {
        struct role_amount amount =
            roles_amount(&trainer->graph.roles, trainer->network, (enum role)role);
        list_names(trainer, (enum role)role, names);
        if (amount.tensors) {
            trainer_say(trainer, "not trained, %zu %s (%lld numbers): %s", amount.tensors,
                        reasons[role], (long long)amount.elements, names);
        }
    }
}
