// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/scored_by.h"

#include "lib/digest.h"
#include "lib/tree.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_MAX = 4, DIGITS = 12 };

static char own_text[SCORED_BY_BYTES_MAX + 1];

static void make_own(void) {
    char hex[65];
    bool is_known = digest_program(hex);
    snprintf(own_text, sizeof own_text, "%s%s%s", WINDLASS_VERSION, is_known ? " " : "",
             is_known ? hex : "");
}

const char *scored_by_own(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_own);
    return own_text;
}

int scored_by_check(const char *program, const char *worker, struct error *err) {
    int size = (int)strcspn(program, " ");
    bool is_same = size == 0 || (size == (int)strlen(WINDLASS_VERSION) &&
                                 memcmp(program, WINDLASS_VERSION, (size_t)size) == 0);
    return is_same ? 0
                   : error_set(err, ERROR_INVALID,
                               "worker %s has version %.*s of Windlass, its coordinator %s: all "
                               "pods of a job must use one image",
                               worker, size, program, WINDLASS_VERSION);
}

bool scored_by_add(json_t **programs, const char *program) {
    size_t i;
    const json_t *known;
    json_array_foreach(*programs, i, known) {
        if (strcmp(json_string_value(known), program) == 0) {
            return false;
        }
    }
    json_t *text = *program && i < SCORED_BY_MAX ? json_string(program) : NULL;
    *programs = *programs ? *programs : json_array();
    return text && json_array_append_new(*programs, text) == 0;
}

void scored_by_see(json_t **programs, const struct generation *generation,
                   const struct commit_head *head, const struct commit_record *record) {
    size_t i;
    const json_t *program;
    if (record->type == COMMIT_BEGIN && generation->keeps < 0) {
        tree_freep(programs);
        return;
    }
    json_array_foreach(head->programs, i, program) {
        (void)scored_by_add(programs, json_string_value(program));
    }
}

json_t *scored_by_json(const json_t *programs) {
    json_t *rows = json_array();
    size_t i;
    const json_t *program;
    json_array_foreach(programs, i, program) {
        const char *text = json_string_value(program), *hex = strchr(text, ' ');
        size_t size = hex ? (size_t)(hex - text) : strlen(text);
        json_array_append_new(
            rows, json_pack("{s:s%, s:s*}", "version", text, size, "sha256", hex ? hex + 1 : NULL));
    }
    return rows;
}

char *scored_by_describe(const json_t *programs) {
    size_t count = json_array_size(programs), i;
    const json_t *program;
    if (count < 2) {
        return NULL;
    }
    char *text = x_printf("its workers ran %zu builds of Windlass:", count);
    json_array_foreach(programs, i, program) {
        const char *one = json_string_value(program);
        int size = (int)MIN(strlen(one), strcspn(one, " ") + 1 + DIGITS);
        char *longer = i < NAMED_MAX ? x_printf("%s%s %.*s", text, i ? "," : "", size, one)
                                     : x_printf("%s%s", text, i == NAMED_MAX ? ", and more" : "");
        free(text);
        text = longer;
    }
    char *whole = x_printf("%s; if its nodes are alike, name images by digest", text);
    free(text);
    return whole;
}
