// SPDX-License-Identifier: Apache-2.0
#include "agent/serve/serve_state.h"

#include "lib/file.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE_BYTES_MAX = 8192 };

int serve_state_write(const char *folder, const struct serve_state *state, struct error *err) {
    AUTO(text_freep) char *path = file_join(folder, "state");
    AUTO(tree_freep)
    json_t *json =
        json_pack("{s:I, s:I, s:b, s:s}", "starts", (json_int_t)state->starts, "ends",
                  (json_int_t)state->ends, "final", state->is_final, "words", state->words);
    AUTO(text_freep) char *text = tree_compact(json);
    return file_write(path, text, strlen(text), err);
}

/* Beyond any real one; differences of two stay numbers, too. */
static int64_t count_of(const json_t *json, const char *name) {
    return MIN(MAX(tree_integer(json, name, 0), (int64_t)0), (int64_t)SERVE_COUNT_MAX);
}

int serve_state_read(const char *folder, struct serve_state *ret_state, struct error *err) {
    AUTO(text_freep) char *path = file_join(folder, "state");
    AUTO(text_freep) char *text = NULL;
    AUTO(tree_freep) json_t *json = NULL;
    size_t size = 0;
    if (access(path, F_OK) < 0) {
        return error_set(err, ERROR_NOT_FOUND, "%s does not exist yet", path);
    }
    if (file_read(path, STATE_BYTES_MAX, &text, &size, err) < 0 ||
        tree_parse(text, size, STATE_BYTES_MAX, &json, err) < 0) {
        return error_context(err, "%s", path);
    }
    *ret_state = (struct serve_state){.starts = count_of(json, "starts"),
                                      .ends = count_of(json, "ends"),
                                      .is_final = tree_bool(json, "final", false)};
    snprintf(ret_state->words, sizeof ret_state->words, "%s", tree_text(json, "words", ""));
    return 0;
}
