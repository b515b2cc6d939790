// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/dataset.h"

#include "agent/data/source/source.h"

#include <assert.h>

struct collecting {
    const struct source *source;
    json_t *files;
};

static int add_file(void *context, const char *name, struct error *err) {
    const struct collecting *collecting = context;
    AUTO(text_freep) char *path = x_printf("%s/%s", store_path(collecting->source->store), name);
    if (json_array_size(collecting->files) == DATASET_SHARDS_MAX) {
        return error_set(err, ERROR_INVALID, "%s: more than %d files",
                         store_path(collecting->source->store), DATASET_SHARDS_MAX);
    }
    json_array_append_new(collecting->files, json_string(path));
    return 0;
}

int dataset_files(const char *path, const char *pattern, json_t **ret_files, struct error *err) {
    AUTO(source_release) struct source source = {0};
    struct collecting collecting = {&source, json_array()};
    int result = source_open(path, &source, err);
    if (result == 0 && source.file) {
        json_array_append_new(collecting.files, json_string(path));
    } else if (result == 0) {
        result = source_list(&source, pattern, NULL, add_file, &collecting, err);
    }
    if (result == 0 && json_array_size(collecting.files) == 0) {
        result = error_set(err, ERROR_INVALID, "%s: there is no %s", path, pattern);
    }
    if (result < 0) {
        json_decref(collecting.files);
        return -1;
    }
    *ret_files = collecting.files;
    return 0;
}

void dataset_close(struct dataset *dataset) {
    if (dataset) {
        dataset->ops->close(dataset);
    }
}

void dataset_closep(struct dataset **dataset) {
    dataset_close(TAKE(*dataset));
}

int dataset_read(struct dataset *dataset, int64_t index, struct sample *sample, struct error *err) {
    assert(index >= 0 && index < dataset->count);
    return dataset->ops->read(dataset, index, sample, err);
}
