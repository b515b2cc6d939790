// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_variables.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_BYTES = 600 };

/* Why a constant is not trained. */
static const char *const reasons[ROLE_COUNT] = {
    [ROLE_FROZEN] = "by model.freeze",
    [ROLE_STATISTIC] = "statistics of norms, which are averaged",
    [ROLE_LITERAL] = "Constant nodes, a part of the formula",
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

static void format(const struct trainer *trainer, char text[static 160]) {
    const struct graph *network = trainer->network;
    struct role_amount trained = roles_amount(&trainer->graph.roles, network, ROLE_VARIABLE);
    struct role_amount frozen = roles_amount(&trainer->graph.roles, network, ROLE_FROZEN);
    snprintf(text, 160, "%zu of %zu tensors, %lld of %lld parameters are trained", trained.tensors,
             trained.tensors + frozen.tensors, (long long)trained.elements,
             (long long)(trained.elements + frozen.elements));
}

void trainer_say_variables(const struct trainer *trainer) {
    char text[160], names[NAMES_BYTES];
    format(trainer, text);
    list_names(trainer, ROLE_FROZEN, names);
    trainer_say(trainer, "%s; frozen: %s", text, *names ? names : "none");
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
