// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/labels.h"

#include "agent/store/local_file.h"
#include "lib/digest.h"

#include <stdlib.h>
#include <string.h>

static void split(struct labels *labels, size_t lines) {
    labels->names = x_calloc(lines + 1, sizeof *labels->names);
    char *rest = labels->text;
    while (rest && *rest) {
        char *line = strsep(&rest, "\n");
        line[strcspn(line, "\r")] = 0;
        labels->names[labels->count++] = line;
    }
}

int labels_read(const json_t *spec, const char *field, struct labels *ret_labels,
                struct error *err) {
    AUTO(local_file_release) struct local_file file = {0};
    struct labels labels = {0};
    const char *path = tree_text(spec, field, NULL);
    size_t size = 0, lines = 0;
    if (!path) {
        *ret_labels = labels;
        return 0;
    }
    if (local_file_open(path, &file, err) < 0 ||
        local_file_read(&file, LABEL_BYTES_MAX, &labels.text, &size, NULL, err) < 0) {
        return error_context(err, "spec.%s", field);
    }
    digest_sha256(labels.text, size, labels.digest);
    for (const char *at = labels.text; *at; at++) {
        lines += *at == '\n';
    }
    if (lines >= LABELS_MAX) {
        free(labels.text);
        return error_set(err, ERROR_INVALID, "spec.%s: %s has more than %d lines", field, path,
                         LABELS_MAX);
    }
    split(&labels, lines);
    *ret_labels = labels;
    return 0;
}

void labels_release(struct labels *labels) {
    free(TAKE(labels->text));
    free(TAKE(labels->names));
    labels->count = 0;
}

const char *labels_name(const struct labels *labels, int64_t index) {
    return index >= 0 && (size_t)index < labels->count ? labels->names[index] : NULL;
}

void labels_add_digest(const struct labels *labels, const char *field, json_t *files) {
    if (labels->digest[0]) {
        json_object_set_new(files, field, json_string(labels->digest));
    }
}
