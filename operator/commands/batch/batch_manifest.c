// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/batch/batch_manifest.h"

#include "lib/buffer.h"
#include "operator/commands/cli_command.h"
#include "operator/kinds/kinds.h"
#include "operator/resource.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 64 << 20 }; /* of a row of JSON Lines */

static bool takes_batches(const struct kind_row *row) {
    return row->batch;
}

bool batch_manifest_is_possible(void) {
    return kinds_having(takes_batches) != NULL;
}

static bool is_request(const char *line, size_t size) {
    AUTO(tree_freep) json_t *tree = json_loadb(line, size, 0, NULL);
    return json_is_string(json_object_get(tree, "custom_id")) &&
           json_is_object(json_object_get(tree, "body"));
}

/* The first line that is not empty, without blanks before it and without its end. False: there is
 * none, it is too long, or the file is not text. */
static bool read_first_line(int fd, struct buffer *line) {
    char piece[(64 << 10) + 1];
    struct error full = {0};
    for (ssize_t got; (got = read(fd, piece, sizeof piece - 1)) > 0;) {
        piece[got] = 0;
        const char *from = line->size > 0 ? piece : piece + strspn(piece, " \t\r\n");
        size_t size = strcspn(from, "\n");
        bool is_text = from[size] || from + size == piece + got;
        if (!is_text || buffer_append(line, from, size, &full) < 0) {
            return false;
        }
        if (from[size]) {
            return true;
        }
    }
    return line->size > 0;
}

bool batch_manifest_is_of(const char *path) {
    struct stat info;
    /* Who opens a pipe waits for its writer, or takes the writer's reader away. */
    bool is_file = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    AUTO(fd_closep) int fd = is_file ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    AUTO(buffer_release) struct buffer line;
    buffer_init(&line, LINE_MAX_BYTES);
    return fd >= 0 && read_first_line(fd, &line) && is_request(line.data, line.size);
}

/* "llm/token": a Secret and its key. */
static int split_key(char *key, struct kind_batch *batch, struct error *err) {
    char *slash = key ? strchr(key, '/') : NULL;
    if (!key) {
        return 0;
    }
    if (!slash || slash == key || !slash[1]) {
        return error_set(err, ERROR_INVALID, "--key %s: SECRET/KEY is expected", key);
    }
    *slash = 0;
    batch->secret = key;
    batch->secret_key = slash + 1;
    return 0;
}

int batch_manifest_make(const struct batch_manifest *batch, const char *path, char **ret_text,
                        char **ret_folder, struct error *err) {
    char found[PATH_MAX];
    if (!realpath(path, found) || access(found, R_OK) < 0) {
        return error_set(err, ERROR_INVALID, "%s: cannot read the file", path);
    }
    char *base = strrchr(found, '/');
    *base++ = 0;
    AUTO(text_freep) char *standard = cli_command_job_name(base);
    const char *name = batch->name ? batch->name : standard;
    AUTO(text_freep) char *answers = x_printf("%s-answers", name);
    AUTO(text_freep) char *key = x_strdup(batch->key);
    AUTO(text_freep) char *text = NULL;
    AUTO(tree_freep) json_t *object = NULL;
    struct kind_batch made = {.name = name,
                              .file = base,
                              .url = batch->url,
                              .output = batch->output ? batch->output : answers,
                              .concurrency = batch->concurrency};
    if (split_key(key, &made, err) < 0) {
        return -1;
    }
    if (kinds_having(takes_batches)->batch(&made, &text, err) < 0 ||
        resource_parse("the manifest of it", text, strlen(text), &object, err) < 0) {
        return error_context(err, "%s", path);
    }
    if (ret_folder) {
        *ret_folder = x_strdup(*found ? found : "/");
    }
    *ret_text = TAKE(text);
    return 0;
}
