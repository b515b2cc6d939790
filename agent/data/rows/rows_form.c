// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/rows_form.h"

#include "lib/text/jsontext.h"

#include <stdlib.h>
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

/* ---- names that are numbers ----------------------------------------------------------------- */

enum { DIGITS_MAX = 15 };

int64_t rows_numbers_of(const char *name, size_t size) {
    int64_t number = 0;
    const char *slash = memrchr(name, '/', size);
    size_t at = slash ? (size_t)(slash - name) + 1 : 0, first = at;
    for (; at < size && name[at] >= '0' && name[at] <= '9' && at - first < DIGITS_MAX; at++) {
        number = 10 * number + (name[at] - '0');
    }
    return at > first && (at == size || name[at] == '.') ? number : -1;
}

void rows_numbers_see(struct rows_numbers *numbers, const char *row, size_t size) {
    struct jsontext_member member;
    const char *at = row;
    int64_t number = -1;
    if (!numbers->are_others && jsontext_member(&at, row + size, &member) &&
        jsontext_is_named(&member, "\"file\"") && member.value_size > 2) {
        number = rows_numbers_of(member.value + 1, member.value_size - 2);
    }
    numbers->are_others =
        numbers->are_others || number < 0 || (numbers->rows > 0 && number <= numbers->last);
    numbers->last = number;
    numbers->rows++;
}

bool rows_numbers_are(const struct rows_numbers *numbers) {
    return numbers->rows > 0 && !numbers->are_others;
}

/* ---- the spec ------------------------------------------------------------------------------- */

void rows_form_read(const json_t *spec, const struct rows_numbers *numbers,
                    struct rows_form_options *options) {
    const char *type = tree_text(spec, "scorer.onnx.postprocess.dtype", "");
    bool is_rounded = strcmp(type, "float16") == 0 || strcmp(type, "int8") == 0;
    options->number_type = is_rounded ? type : NULL; /* as the vectors were */
    options->is_plain = strcmp(tree_text(spec, "output.compression", ""), "None") == 0;
    options->are_numbered = rows_numbers_are(numbers);
}
