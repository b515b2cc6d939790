/* environment.h: a container of a Pod -> the words and the environment of a process, as a kubelet
 * makes them: $(NAME) refers to variables defined before it, $$ stands for $. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* Where the values come from. Each returns a borrowed text or NULL. */
struct environment_source {
    const char *(*secret)(void *context, const char *name, const char *key);
    const char *(*field)(void *context, const char *path); /* fieldRef.fieldPath */
    const char *(*folder)(void *context, const char *volume_name);
    void *context;
};

/* Both arrays end with NULL. */
struct environment {
    char **words;     /* command, then args; "windlass-agent" when the container has no command */
    char **variables; /* "NAME=value", each name once */
};

/* The process gets what the container says, and of our own environment only what a process needs
 * to run on this machine (PATH, HOME, language, libraries, sanitizers). A variable named as a
 * volume that the container mounts holds that volume's folder on this machine, whatever its value
 * says. */
NODISCARD int environment_build(const json_t *container, const struct environment_source *source,
                                struct environment *ret_environment, struct error *err);
void environment_release(struct environment *environment);
/* Adds a variable, or replaces it. */
void environment_set(struct environment *environment, const char *name, const char *value);
