// SPDX-License-Identifier: Apache-2.0
/* Looks at names and sizes of files alone: the trainer reads them, and refuses what is wrong. */
#include "operator/commands/train/train_data.h"

#include "lib/file.h"
#include "lib/text/picture_name.h"
#include "lib/text/text_list.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { CIFAR10_RECORD = 3073, CIFAR100_RECORD = 3074, CLASSES_OF_MNIST = 10 };

static const char forms[] =
    "a folder with a folder of pictures for each class, MNIST's or CIFAR's files, tars "
    "(WebDataset), a table (.csv, .tsv, .jsonl, .parquet) with --label, or two arrays: "
    "samples.npy labels.npy";

void train_data_release(struct train_data *data) {
    free(data->path);
    free(data->labels);
    *data = (struct train_data){0};
}

/* "a/b.csv.gz" has the ending "csv". */
static bool has_ending(const char *name, const char *ending) {
    size_t length = strlen(name), size = strlen(ending);
    return length > size + 1 && name[length - size - 1] == '.' &&
           strcasecmp(name + length - size, ending) == 0;
}

static const char *table_format(const char *name) {
    static const struct {
        const char *ending, *format;
    } rows[] = {{"csv", "CSV"},
                {"tsv", "TSV"},
                {"jsonl", "JSONLines"},
                {"ndjson", "JSONLines"},
                {"parquet", "Parquet"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (has_ending(name, rows[i].ending)) {
            return rows[i].format;
        }
    }
    return NULL;
}

static int real_path(const char *path, char **ret_path, struct error *err) {
    *ret_path = realpath(path, NULL);
    return *ret_path ? 0 : error_set(err, ERROR_INVALID, "%s: %m", path);
}

/* ---- a folder ------------------------------------------------------------------------------- */

/* What a folder has. The texts are owned. */
struct inside {
    int64_t folders, classes; /* classes: folders with a picture as their first file */
    char *images, *labels, *test_images, *test_labels; /* MNIST's */
    char *train, *test;                                /* folders of these names */
    char *table, *tar, *cifar;                         /* the first of such files */
};

static void inside_release(struct inside *inside) {
    char *all[] = {inside->images,      inside->labels, inside->test_images,
                   inside->test_labels, inside->train,  inside->test,
                   inside->table,       inside->tar,    inside->cifar};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        free(all[i]);
    }
}

static bool has_picture(const char *folder) {
    DIR *files = opendir(folder);
    bool found = false;
    for (struct dirent *file; files && !found && (file = readdir(files));) {
        found = picture_name_is_known(file->d_name);
    }
    if (files) {
        closedir(files);
    }
    return found;
}

static void keep(char **at, const char *path) {
    if (!*at || strcmp(path, *at) < 0) {
        free(*at);
        *at = x_strdup(path);
    }
}

static bool is_cifar_record(const char *path, int64_t *ret_classes) {
    struct stat about;
    if (stat(path, &about) < 0 || about.st_size == 0) {
        return false;
    }
    *ret_classes = about.st_size % CIFAR10_RECORD == 0 ? 10 : 100;
    return about.st_size % CIFAR10_RECORD == 0 || about.st_size % CIFAR100_RECORD == 0;
}

static void look_at_folder(struct inside *inside, const char *name, const char *path) {
    static const char *const tests[] = {"test", "val", "valid", "validation", NULL};
    inside->folders++;
    inside->classes += has_picture(path);
    if (strcmp(name, "train") == 0) {
        keep(&inside->train, path);
    }
    if (text_list_has(tests, name)) {
        keep(&inside->test, path);
    }
}

static void look_at_file(struct inside *inside, const char *name, const char *path) {
    bool is_test = text_starts(name, "t10k") || strstr(name, "test");
    int64_t ignored;
    if (strstr(name, "images") && strstr(name, "ubyte")) {
        keep(is_test ? &inside->test_images : &inside->images, path);
    } else if (strstr(name, "labels") && strstr(name, "ubyte")) {
        keep(is_test ? &inside->test_labels : &inside->labels, path);
    } else if (table_format(name)) {
        keep(&inside->table, path);
    } else if (has_ending(name, "tar")) {
        keep(&inside->tar, path);
    } else if (has_ending(name, "bin") && is_cifar_record(path, &ignored)) {
        keep(&inside->cifar, path);
    }
}

static int look(const char *folder, struct inside *inside, struct error *err) {
    DIR *files = opendir(folder);
    if (!files) {
        return error_set(err, ERROR_INVALID, "%s: %m", folder);
    }
    for (struct dirent *file; (file = readdir(files));) {
        AUTO(text_freep) char *path = file_join(folder, file->d_name);
        if (*file->d_name == '.') {
            continue;
        }
        if (file_is_folder(path)) {
            look_at_folder(inside, file->d_name, path);
        } else {
            look_at_file(inside, file->d_name, path);
        }
    }
    closedir(files);
    return 0;
}

static struct train_data of_mnist(const char *images, const char *labels) {
    return (struct train_data){.form = KIND_DATA_IDX,
                               .path = x_strdup(images),
                               .labels = x_strdup(labels),
                               .classes = CLASSES_OF_MNIST,
                               .pictures = {1, 28, 28}};
}

static struct train_data of_cifar(const char *path, int64_t classes) {
    return (struct train_data){.form = KIND_DATA_CIFAR,
                               .path = x_strdup(path),
                               .classes = classes,
                               .pictures = {3, 32, 32}};
}

/* The data of one folder, without a look into train/ and test/. */
static int take_inside(const char *folder, const struct inside *inside,
                       struct train_data *ret_train, struct train_data *ret_test,
                       struct error *err) {
    int64_t classes = 0;
    if (inside->images && inside->labels) {
        *ret_train = of_mnist(inside->images, inside->labels);
        if (inside->test_images && inside->test_labels) {
            *ret_test = of_mnist(inside->test_images, inside->test_labels);
        }
    } else if (inside->classes >= 2) {
        *ret_train = (struct train_data){
            .form = KIND_DATA_FOLDER, .path = x_strdup(folder), .classes = inside->classes};
    } else if (inside->cifar && is_cifar_record(inside->cifar, &classes)) {
        *ret_train = of_cifar(folder, classes);
    } else if (inside->tar) {
        *ret_train = (struct train_data){.form = KIND_DATA_WEBDATASET, .path = x_strdup(folder)};
    } else if (inside->table) {
        *ret_train = (struct train_data){.form = KIND_DATA_TABLE,
                                         .path = x_strdup(folder),
                                         .table_format = table_format(inside->table)};
    } else {
        return error_set(err, ERROR_INVALID, "%s: no training data found in it; known are %s",
                         folder, forms);
    }
    return 0;
}

/* One level only: a link may lead back to the folder itself. */
static int find_parts(const char *train, const char *test, struct train_data *ret_train,
                      struct train_data *ret_test, struct error *err) {
    AUTO(inside_release) struct inside train_inside = {0};
    AUTO(inside_release) struct inside test_inside = {0};
    AUTO(train_data_release) struct train_data other = {0};
    AUTO(train_data_release) struct train_data another = {0};
    return look(train, &train_inside, err) < 0 ||
                   take_inside(train, &train_inside, ret_train, &other, err) < 0 ||
                   (test && (look(test, &test_inside, err) < 0 ||
                             take_inside(test, &test_inside, ret_test, &another, err) < 0))
               ? -1
               : 0;
}

static int find_in_folder(const char *folder, struct train_data *ret_train,
                          struct train_data *ret_test, struct error *err) {
    AUTO(inside_release) struct inside inside = {0};
    if (look(folder, &inside, err) < 0) {
        return -1;
    }
    bool has_samples = inside.images && inside.labels;
    if (!has_samples && inside.train && inside.test && has_picture(inside.train) &&
        has_picture(inside.test)) {
        return error_set(err, ERROR_INVALID,
                         "%s: %s and %s in it have pictures; expected a folder of pictures for "
                         "each class in each of them",
                         folder, file_basename(inside.train), file_basename(inside.test));
    }
    return !has_samples && inside.train && inside.classes == 0
               ? find_parts(inside.train, inside.test, ret_train, ret_test, err)
               : take_inside(folder, &inside, ret_train, ret_test, err);
}

/* ---- files ---------------------------------------------------------------------------------- */

static int find_file(const char *path, struct train_data *ret_train, struct error *err) {
    int64_t classes;
    if (table_format(path)) {
        *ret_train = (struct train_data){
            .form = KIND_DATA_TABLE, .path = x_strdup(path), .table_format = table_format(path)};
    } else if (has_ending(path, "tar")) {
        *ret_train = (struct train_data){.form = KIND_DATA_WEBDATASET, .path = x_strdup(path)};
    } else if (has_ending(path, "bin") && is_cifar_record(path, &classes)) {
        *ret_train = of_cifar(path, classes);
    } else if (has_ending(path, "npy") || strstr(file_basename(path), "ubyte")) {
        return error_set(err, ERROR_INVALID,
                         "%s: these are samples alone; give the file of their labels behind it",
                         path);
    } else {
        return error_set(err, ERROR_INVALID, "%s: not training data; known are %s", path, forms);
    }
    return 0;
}

static int find_two(const char *samples, const char *labels, struct train_data *ret_train,
                    struct error *err) {
    bool are_arrays = has_ending(samples, "npy") && has_ending(labels, "npy");
    if (are_arrays) {
        *ret_train = (struct train_data){
            .form = KIND_DATA_TENSORS, .path = x_strdup(samples), .labels = x_strdup(labels)};
    } else if (strstr(samples, "ubyte") && strstr(labels, "ubyte")) {
        *ret_train = of_mnist(samples, labels);
    } else {
        return error_set(err, ERROR_INVALID,
                         "%s and %s: two files are samples and their labels: two .npy, or two of "
                         "MNIST's form",
                         samples, labels);
    }
    return 0;
}

int train_data_find(const char *const *paths, size_t count, struct train_data *ret_train,
                    struct train_data *ret_test, struct error *err) {
    AUTO(text_freep) char *first = NULL;
    AUTO(text_freep) char *second = NULL;
    if (real_path(paths[0], &first, err) < 0 ||
        (count > 1 && real_path(paths[1], &second, err) < 0)) {
        return -1;
    }
    if (count > 2) {
        return error_set(err, ERROR_INVALID,
                         "%zu files: give one folder, one file, or samples and labels", count);
    }
    return second                  ? find_two(first, second, ret_train, err)
           : file_is_folder(first) ? find_in_folder(first, ret_train, ret_test, err)
                                   : find_file(first, ret_train, err);
}
