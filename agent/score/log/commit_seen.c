// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/commit_seen.h"

#include <stdlib.h>
#include <string.h>

struct kept_text {
    char *text; /* NULL: not kept */
    size_t size;
};

struct commit_seen {
    char *run;
    struct kept_text *texts; /* by number, without gaps from 0 */
    int64_t count, room;
    size_t bytes, bytes_max; /* of the texts and of their places */
};

struct commit_seen *commit_seen_new(size_t bytes_max) {
    struct commit_seen *seen = x_calloc(1, sizeof *seen);
    seen->bytes_max = bytes_max;
    seen->run = x_strdup("");
    return seen;
}

static void forget(struct commit_seen *seen) {
    for (int64_t i = 0; i < seen->count; i++) {
        free(seen->texts[i].text);
    }
    free(TAKE(seen->texts));
    seen->count = seen->room = 0;
    seen->bytes = 0;
}

void commit_seen_free(struct commit_seen *seen) {
    if (seen) {
        forget(seen);
        free(seen->run);
        free(seen);
    }
}

/* False: out of room. */
static bool make_room(struct commit_seen *seen, int64_t number, size_t size) {
    if (number < 0 || number > (int64_t)(seen->bytes_max / sizeof *seen->texts)) {
        return false;
    }
    size_t places = (size_t)(MAX(number + 1, seen->count) - seen->count) * sizeof *seen->texts;
    if (seen->bytes + places + size > seen->bytes_max) {
        return false;
    }
    if (number >= seen->room) {
        seen->room = MAX(number + 1, seen->room * 2);
        seen->texts = x_realloc_array(seen->texts, (size_t)seen->room, sizeof *seen->texts);
    }
    for (; seen->count <= number; seen->count++) {
        seen->texts[seen->count] = (struct kept_text){0};
    }
    seen->bytes += places + size;
    return true;
}

void commit_seen_add(struct commit_seen *seen, const char *run, int64_t number, const char *text,
                     size_t size) {
    if (strcmp(seen->run, run) != 0) {
        forget(seen);
        free(seen->run);
        seen->run = x_strdup(run);
    }
    if ((number < seen->count && seen->texts[number].text) || !make_room(seen, number, size)) {
        return;
    }
    char *copy = x_malloc(MAX(size, (size_t)1));
    memcpy(copy, text, size);
    seen->texts[number] = (struct kept_text){copy, size};
}

bool commit_seen_take(const struct commit_seen *seen, const char *run, int64_t number,
                      struct buffer *text) {
    struct error ignored = {0};
    if (strcmp(seen->run, run) != 0 || number < 0 || number >= seen->count ||
        !seen->texts[number].text) {
        return false;
    }
    const struct kept_text *kept = &seen->texts[number];
    return buffer_append(text, kept->text, kept->size, &ignored) == 0;
}
