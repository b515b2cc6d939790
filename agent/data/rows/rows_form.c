// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/rows_form.h"

#include <string.h>

static const struct rows_form *const forms[] = {&rows_csv, &rows_parquet, &rows_npy};

const struct rows_form *rows_form_find(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (strcmp(forms[i]->name, name) == 0) {
            return forms[i];
        }
    }
    return NULL;
}
