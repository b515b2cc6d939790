// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/join/present.h"

#include "agent/data/kinds/name_set.h"
#include "agent/result/output_lines.h"
#include "agent/score/coordinator/rerun.h"
#include "lib/log.h"

#include <stdlib.h>
#include <string.h>

struct output_scan {
    struct store *output;
    struct name_set *sized; /* "name\nsize" of each line, as far as they have room */
    int64_t found;          /* of them, in the listing */
    int64_t absent;
    char first[STORE_NAME_MAX + 1]; /* of the absent ones */
};

static char *sized_name(const char *name, int64_t size_bytes) {
    return x_printf("%s\n%lld", name, (long long)size_bytes);
}

/* One that has no room is not found, and looked at later. */
static int note_line(void *context, const struct output_line *line, struct error *err UNUSED) {
    struct output_scan *looking = context;
    AUTO(text_freep) char *sized = sized_name(line->name, line->size_bytes);
    (void)!name_set_add(looking->sized, 's', sized, strlen(sized));
    return 0;
}

static int note_listed(void *context, const char *name, const struct store_info *info,
                       struct error *err UNUSED) {
    struct output_scan *looking = context;
    AUTO(text_freep) char *sized = info ? sized_name(name, info->size_bytes) : NULL;
    looking->found += sized && name_set_has(looking->sized, 's', sized, strlen(sized));
    return 0;
}

/* A listing may be a minute old: the file itself decides. */
static int check_output(void *context, const struct output_line *line, struct error *err) {
    struct output_scan *looking = context;
    struct store_info info = {0};
    struct error why = {0};
    if (store_stat(looking->output, line->name, &info, &why) < 0 && store_error_is_machine(&why) &&
        why.kind != ERROR_DENIED) {
        *err = why;
        return -1;
    }
    if (why.kind || info.size_bytes != line->size_bytes) {
        if (looking->absent++ == 0) {
            snprintf(looking->first, sizeof looking->first, "%s", line->name);
        }
    }
    return 0;
}

/* One listing instead of a question for each file, unless that misses one. */
static int check_listing(struct output_scan *looking, bool *ret_has_all, struct error *err) {
    struct output_lines_sum sum;
    looking->found = 0;
    looking->sized = name_set_new(/* folds= */ false);
    int result =
        output_lines_read(looking->output, OUTPUT_LINES_NAME, note_line, looking, &sum, err) < 0
            ? -1
            : store_list_infos(looking->output, "", NULL, note_listed, looking, err);
    name_set_free(TAKE(looking->sized));
    *ret_has_all = result == 0 && looking->found >= sum.count;
    return result;
}

/* A listing of a volume asks for each file, too, and their names would be in memory. */
static int check_all(struct output_scan *looking, struct error *err) {
    struct output_lines_sum sum;
    bool has_all = false;
    looking->absent = 0;
    if (!store_features(looking->output).is_local && check_listing(looking, &has_all, err) < 0) {
        return -1;
    }
    return has_all ? 0
                   : output_lines_read(looking->output, OUTPUT_LINES_NAME, check_output, looking,
                                       &sum, err);
}

int present_ensure(struct prepared_job *prepared, struct error *err) {
    struct output_scan looking = {.output = prepared->output};
    if (check_all(&looking, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    if (looking.absent == 0) {
        return 0;
    }
    log_event(LOG_WARNING,
              "%lld results are gone from the output or have another size, such as %s: they are "
              "written once more",
              (long long)looking.absent, looking.first);
    if (journal_publish_all(&prepared->journal, err) < 0) {
        return -1;
    }
    if (check_all(&looking, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    return looking.absent == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.output.path: %lld results of an earlier run are gone or have "
                           "another size since this one began, such as %.200s: " RESTART_HINT,
                           (long long)looking.absent, looking.first);
}
