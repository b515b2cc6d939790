// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/command_environment.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

struct list {
    char **items; /* NULL-terminated */
    size_t count;
};

/* Replaces a variable of that name, or adds it. Takes the text. */
static void list_set(struct list *list, char *variable) {
    size_t name = strcspn(variable, "=") + 1;
    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->items[i], variable, name) == 0) {
            free(list->items[i]);
            list->items[i] = variable;
            return;
        }
    }
    list->items = x_realloc_array(list->items, list->count + 2, sizeof *list->items);
    list->items[list->count++] = variable;
    list->items[list->count] = NULL;
}

/* If CUDA_VISIBLE_DEVICES already lists our devices ("2,5", or names): one of these. */
static char *device_of(int slot, int gpus) {
    const char *listed = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0, index = 0;
    for (const char *at = listed; at && *at; at += *at == ',') {
        at += strcspn(at, ",");
        count++;
    }
    int wanted = slot % (count > 0 ? MIN(count, gpus) : gpus);
    for (const char *at = listed; at && *at; at += *at == ',', index++) {
        size_t length = strcspn(at, ",");
        if (index == wanted) {
            return x_printf("CUDA_VISIBLE_DEVICES=%.*s", (int)length, at);
        }
        at += length;
    }
    return x_printf("CUDA_VISIBLE_DEVICES=%d", wanted);
}

static bool is_of(const char *variable, const char *name) {
    size_t size = strlen(name);
    return strncmp(variable, name, size) == 0 && variable[size] == '=';
}

/* The folder is the last one, so that a module of the user's own comes first. */
static void add_python(struct list *list, const char *folder) {
    for (size_t i = 0; i < list->count; i++) {
        if (is_of(list->items[i], "PYTHONPATH")) {
            bool has_others = strlen(list->items[i]) > strlen("PYTHONPATH=");
            list_set(list, x_printf("%s%s%s", list->items[i], has_others ? ":" : "", folder));
            return;
        }
    }
    list_set(list, x_printf("PYTHONPATH=%s", folder));
}

char **command_environment_new(const struct command_environment *environment) {
    struct list list = {x_calloc(1, sizeof *list.items), 0};
    for (char **variable = environ; variable && *variable; variable++) {
        if (!text_starts(*variable, "WINDLASS_")) {
            list_set(&list, x_strdup(*variable));
        }
    }
    list_set(&list, x_printf("WINDLASS_JOB=%s", environment->job));
    list_set(&list, x_printf("WINDLASS_WORKER=%s", environment->worker));
    list_set(&list, x_printf("WINDLASS_SLOT=%d", environment->slot));
    if (environment->gpus > 0) {
        list_set(&list, device_of(environment->slot, environment->gpus));
    }
    for (const char *const *more = environment->variables; more && *more; more++) {
        list_set(&list, x_strdup(*more));
    }
    if (environment->python) {
        add_python(&list, environment->python);
    }
    return list.items;
}

void command_environment_free(char **variables) {
    for (char **variable = variables; variable && *variable; variable++) {
        free(*variable);
    }
    free(variables);
}
