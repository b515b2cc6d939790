/* files_list.h: finds the files of spec.input.files; see files.h for what counts. */
#pragma once

#include "lib/tree.h"

struct files_list {
    char **names; /* below the folder, sorted */
    int64_t count, room;
    int64_t skipped; /* links and names that cannot be taken */
};

/* Errors name the spec's field and path. */
NODISCARD int files_list_build(struct files_list *list, const json_t *spec, struct error *err);
void files_list_release(struct files_list *list);
