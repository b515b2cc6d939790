/* own_variables.h: refuses $WINDLASS_NAME, ${WINDLASS_NAME} and $(WINDLASS_NAME) in fields where
 * nothing replaces them. For example output.path: out/$WINDLASS_JOB would make a folder of exactly
 * that name. $$ is a plain $. Refused by `windlass check`; errors name the field. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* field: "output.path", below spec. */
NODISCARD int own_variables_check_path(const char *field, const char *path, struct error *err);
/* Words of a command. Those that a shell reads (sh -c WORD) may have them: its environment has some
 * of them. allowed: the names that are replaced, a list that ends with NULL; NULL: none. */
NODISCARD int own_variables_check_command(const json_t *spec, const char *field,
                                          const char *const *allowed, struct error *err);
/* All texts of a tree: values of variables, arguments. */
NODISCARD int own_variables_check_tree(const json_t *spec, const char *field,
                                       const char *const *allowed, struct error *err);
