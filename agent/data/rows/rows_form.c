// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/rows_form.h"

#include <string.h>

static const struct rows_form *const forms[] = {&rows_csv, &rows_parquet, &rows_npy, &rows_coco};

const struct rows_form *rows_form_find(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (strcmp(forms[i]->name, name) == 0) {
            return forms[i];
        }
    }
    return NULL;
}

void rows_form_read(const json_t *spec, const struct rows_numbers *numbers,
                    struct rows_form_options *options) {
    const char *type = tree_text(spec, "scorer.onnx.postprocess.dtype", "");
    bool is_rounded = strcmp(type, "float16") == 0 || strcmp(type, "int8") == 0;
    options->number_type = is_rounded ? type : NULL; /* as the vectors were */
    options->is_plain = strcmp(tree_text(spec, "output.compression", ""), "None") == 0;
    options->are_numbered = rows_numbers_are(numbers);
}
