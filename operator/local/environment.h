/* environment.h: a container of a Pod -> the arguments and the environment of a process, by a
 * kubelet's rules: $(NAME) refers to variables defined before it, $$ means $. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* The sources of values. Each function returns a borrowed text or NULL. */
struct local_environment_source {
    const char *(*secret)(void *context, const char *name, const char *key);
    const char *(*field)(void *context, const char *path); /* fieldRef.fieldPath */
    const char *(*folder)(void *context, const char *volume_name);
    void *context;
};

/* Both arrays end with NULL. */
struct local_environment {
    char **words;     /* command, then args; "windlass-agent" when the container has no command */
    char **variables; /* "NAME=value", each name once */
};

/* The process gets the container's variables, and of our own environment only what a process needs
 * on this machine (PATH, HOME, language, libraries, sanitizers). A variable with the name of a
 * volume that the container mounts is set to that volume's folder on this machine, whatever its
 * value in the container. */
NODISCARD int local_environment_build(const json_t *container,
                                      const struct local_environment_source *source,
                                      struct local_environment *ret_environment, struct error *err);
void local_environment_release(struct local_environment *environment);
/* Adds or replaces a variable. */
void local_environment_set(struct local_environment *environment, const char *name,
                           const char *value);
