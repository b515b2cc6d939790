// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/text_model.h"

#include "agent/data/text/model/bpe.h"
#include "agent/data/text/model/unigram.h"
#include "agent/data/text/model/word_level.h"
#include "agent/data/text/model/wordpiece.h"
#include "agent/data/text/setting.h"

#include <string.h>

static const struct text_model_kind *const kinds[] = {&bpe_kind, &unigram_kind, &word_level_kind,
                                                      &wordpiece_kind};

int text_model_open(const json_t *tree, struct text_model **ret_model, struct error *err) {
    const char *names[ARRAY_LEN(kinds) + 1] = {NULL};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        names[i] = kinds[i]->type;
        if (strcmp(setting_type(tree), kinds[i]->type) == 0) {
            return kinds[i]->open(tree, ret_model, err) < 0 ? error_context(err, "model") : 0;
        }
    }
    setting_unknown(tree, names, err);
    return error_context(err, "model");
}

void text_model_free(struct text_model *model) {
    if (model) {
        model->kind->free(model);
    }
}
