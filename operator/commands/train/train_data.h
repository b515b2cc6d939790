/* train_data.h: what the files are that `windlass train` is given, by their names and sizes. */
#pragma once

#include "operator/kinds/kinds.h"

struct train_data {
    enum kind_data form;
    char *path, *labels;      /* absolute, without links; owned; labels: NULL: in the same files */
    const char *table_format; /* of a table */
    int64_t classes;          /* 0: unknown */
    int64_t pictures[3];      /* channels, height, width; 0: unknown */
};
void train_data_release(struct train_data *data); /* for AUTO */

/* One set of samples: a folder, a file, or two files (samples, labels). ret_test: gets test data
 * that is in the same folder, in the form that such data comes in (test/ beside train/, t10k-*
 * beside train-*); its path is NULL where there is none. INVALID: none of the known forms. */
NODISCARD int train_data_find(const char *const *paths, size_t count, struct train_data *ret_train,
                              struct train_data *ret_test, struct error *err);
