// SPDX-License-Identifier: Apache-2.0
#include "operator/resource_files.h"

#include "lib/file.h"
#include "lib/text/nearest.h"
#include "operator/kinds/job/parameters/parameters.h"
#include "operator/resource.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void release(struct resource_file *file) {
    free(file->path);
    json_decref(file->object);
    json_decref(file->written);
    json_decref(file->parameters);
    json_decref(file->more);
    json_decref(file->shown);
}

void resource_files_keep(struct resource_files *files, const char *name) {
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        struct resource_file *file = &files->at[i];
        const json_t *resource = file->object ? file->object : file->written;
        if (resource && strcmp(tree_text(resource, "metadata.name", ""), name) != 0) {
            release(file);
        } else {
            files->at[kept++] = *file;
        }
    }
    files->count = kept;
}

void resource_files_release(struct resource_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        release(&files->at[i]);
    }
    free(files->at);
    *files = (struct resource_files){0};
}

static const char *lines_of(const struct resource_file *file, size_t index) {
    const char *lines = json_string_value(json_array_get(file->shown, index));
    return lines ? lines : "";
}

void resource_file_errors(const struct resource_file *file,
                          void (*each)(void *context, const char *text, const char *lines),
                          void *context) {
    if (!file->why.kind) {
        return;
    }
    each(context, file->why.text, lines_of(file, 0));
    for (size_t i = 0; i < json_array_size(file->more); i++) {
        each(context, json_string_value(json_array_get(file->more, i)), lines_of(file, i + 1));
    }
}

struct reading {
    struct resource_files *files;
    const char *path;
    enum resource_use use;
    const struct option_list *sets; /* NULL: none */
};

static int add(void *context, const struct resource_read *read, struct error *err) {
    const struct reading *reading = context;
    struct resource_files *files = reading->files;
    if (files->count == RESOURCE_FILES_MAX) {
        json_decref(read->object);
        return error_set(err, ERROR_INVALID, "%s: more than %d resources, give fewer files",
                         reading->path, RESOURCE_FILES_MAX);
    }
    files->at = x_realloc_array(files->at, files->count + 1, sizeof *files->at);
    files->at[files->count++] = (struct resource_file){
        .path = x_strdup(strcmp(reading->path, "-") == 0 ? "standard input" : reading->path),
        .object = read->object,
        .written = json_incref((json_t *)read->written),
        .parameters = json_incref((json_t *)read->parameters),
        .more = json_incref((json_t *)read->more),
        .shown = json_incref((json_t *)read->shown),
        .why = read->why ? *read->why : (struct error){0}};
    return 0;
}

static int read_one(const struct reading *reading, struct error *err) {
    struct error why = {0};
    size_t before = reading->files->count;
    if (strstr(reading->path, "://")) {
        return error_set(err, ERROR_INVALID,
                         "%s: an address is not read here; download it and give the file, or pipe "
                         "it into -f -",
                         reading->path);
    }
    const struct resource_source source = {reading->path, reading->use, reading->sets};
    if (resource_load_each(&source, add, (void *)reading, &why) < 0) {
        if (reading->files->count == RESOURCE_FILES_MAX) {
            *err = why;
            return -1;
        }
        return add((void *)reading, &(struct resource_read){.why = &why}, err);
    }
    if (reading->files->count == before) {
        error_set(&why, ERROR_INVALID, "%s: no resource in it", reading->path);
        return add((void *)reading, &(struct resource_read){.why = &why}, err);
    }
    return 0;
}

static int is_manifest(const struct dirent *entry) {
    static const char *const endings[] = {".yaml", ".yml", ".json"};
    const char *dot = strrchr(entry->d_name, '.');
    for (size_t i = 0; dot && i < ARRAY_LEN(endings); i++) {
        if (strcmp(dot, endings[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

static int by_bytes(const struct dirent **one, const struct dirent **other) {
    return strcmp((*one)->d_name, (*other)->d_name);
}

static int read_folder(const struct reading *folder, struct error *err) {
    struct dirent **entries = NULL;
    int count = scandir(folder->path, &entries, is_manifest, by_bytes), files = 0, result = 0;
    if (count < 0) {
        return error_from_errno(err, errno, "cannot list %s", folder->path);
    }
    for (int i = 0; i < count; i++) {
        AUTO(text_freep) char *path = file_join(folder->path, entries[i]->d_name);
        struct stat status;
        bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
        struct reading file = {folder->files, path, folder->use, folder->sets};
        files += !is_folder;
        result = result == 0 && !is_folder ? read_one(&file, err) : result;
        free(entries[i]);
    }
    free(entries);
    if (result == 0 && files == 0) {
        return error_set(err, ERROR_INVALID, "%s: no *.yaml, *.yml or *.json in this folder",
                         folder->path);
    }
    return result;
}

/* ---- --set ---- */

/* The names of all parameters: {NAME: true}; owned. */
static json_t *names_of_parameters(const struct resource_files *files) {
    json_t *names = json_object();
    for (size_t i = 0; i < files->count; i++) {
        const json_t *list = files->at[i].parameters;
        for (size_t k = 0; k < json_array_size(list); k++) {
            const char *name = tree_text(json_array_get(list, k), "name", "");
            json_object_set_new(names, name, json_true());
        }
    }
    return names;
}

/* A file that cannot be read is another error, which is reported first. */
static bool all_are_read(const struct resource_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        if (!files->at[i].written) {
            return false;
        }
    }
    return true;
}

int resource_files_check_sets(const struct resource_files *files, const struct option_list *sets,
                              struct error *err) {
    AUTO(tree_freep) json_t *names = names_of_parameters(files);
    if (!all_are_read(files)) {
        return 0;
    }
    for (size_t i = 0; i < sets->count; i++) {
        AUTO(text_freep) char *name = NULL;
        const char *value;
        if (parameters_split(sets->values[i], &name, &value, err) < 0) {
            return -1;
        }
        const char *near = nearest_key(names, name);
        if (!json_object_get(names, name)) {
            return error_set(err, ERROR_INVALID,
                             "--set %s: no job of these files has that parameter in "
                             "spec.parameters%s%s%s",
                             name, near ? " (did you mean " : "", near ? near : "",
                             near ? "?)" : "");
        }
    }
    return 0;
}

void resource_files_fill(struct resource_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        struct resource_file *file = &files->at[i];
        json_t *filled = file->object ? parameters_fill(file->object) : NULL;
        if (filled) {
            json_decref(file->object);
            file->object = filled;
        }
    }
}

/* ---- all ---- */

int resource_files_read(const struct option_list *paths, enum resource_use use,
                        const struct option_list *sets, struct resource_files *ret_files,
                        struct error *err) {
    AUTO(resource_files_release) struct resource_files files = {0};
    bool has_input = false;
    for (size_t i = 0; i < paths->count; i++) {
        struct reading reading = {&files, paths->values[i], use, sets};
        bool is_input = strcmp(reading.path, "-") == 0;
        struct stat status;
        bool is_folder = !is_input && stat(reading.path, &status) == 0 && S_ISDIR(status.st_mode);
        if (is_input && has_input) {
            return error_set(err, ERROR_INVALID, "-f -: given twice; standard input is read once");
        }
        has_input |= is_input;
        if ((is_folder ? read_folder(&reading, err) : read_one(&reading, err)) < 0) {
            return -1;
        }
    }
    *ret_files = files;
    files = (struct resource_files){0};
    return 0;
}
