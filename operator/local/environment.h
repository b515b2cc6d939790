/* environment.h: makes the arguments and the environment of a process from a container of a Pod, by
 * the rules of a kubelet: $(NAME) refers to variables that are defined before it, $$ means $. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* Where the values of variables come from. Each function returns a borrowed text, or NULL when
 * there is no such value. */
struct local_environment_source {
    const char *(*secret)(void *context, const char *name, const char *key);
    const char *(*field)(void *context, const char *path);         /* fieldRef.fieldPath */
    const char *(*folder)(void *context, const char *volume_name); /* on this machine */
    void *context;
};

/* Both arrays end with NULL. */
struct local_environment {
    char **words;     /* command, then args; "windlass-agent" when the container has no command */
    char **variables; /* "NAME=value", each name once */
};

/* The process gets the container's variables, and those of this process that a program on this
 * machine needs (PATH, HOME, language, libraries, sanitizers). A variable that has the name of a
 * volume of the container is set to the volume's folder on this machine; its value in the Pod is
 * ignored. */
NODISCARD int local_environment_build(const json_t *container,
                                      const struct local_environment_source *source,
                                      struct local_environment *ret_environment, struct error *err);
void local_environment_release(struct local_environment *environment);
/* Adds or replaces a variable. */
void local_environment_set(struct local_environment *environment, const char *name,
                           const char *value);
