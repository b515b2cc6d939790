// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/generation.h"

#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWNER_BYTES_MAX = 16 << 10 };

static const char succeeded_text[] = "Succeeded";

static bool is_run(const char *text) {
    return text && strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

int generation_find_home(struct store *output, const char *run, struct generation *ret_generation,
                         struct error *err) {
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *owner = NULL;
    struct error cause = {0};
    struct generation generation = {0};
    buffer_init(&text, OWNER_BYTES_MAX);
    if (store_get(output, ".windlass/owner", &text, NULL, &cause) < 0) {
        if (cause.kind != ERROR_NOT_FOUND) {
            *err = cause;
            return -1;
        }
        snprintf(generation.home, sizeof generation.home, "%s", run);
    } else {
        int parsed =
            tree_parse(text.data ? text.data : "", text.size, OWNER_BYTES_MAX, &owner, &cause);
        const char *home = parsed == 0 ? tree_text(owner, "run", NULL) : NULL;
        if (!is_run(home)) {
            return error_set(err, ERROR_INVALID,
                             "%s/.windlass/owner does not name the job of this output; if none of "
                             "its pods runs, delete .windlass in it",
                             store_path(output));
        }
        generation.is_there = true;
        snprintf(generation.home, sizeof generation.home, "%s", home);
        snprintf(generation.job, sizeof generation.job, "%s", tree_text(owner, "job", "?"));
        snprintf(generation.owner, sizeof generation.owner, "%s", tree_text(owner, "uid", ""));
    }
    generation_start(&generation, ret_generation);
    return 0;
}

void generation_start(const struct generation *known, struct generation *ret_generation) {
    struct generation first = {.keeps = -1, .epoch = -1, .is_there = known->is_there};
    memcpy(first.home, known->home, sizeof first.home);
    memcpy(first.run, known->home, sizeof first.run);
    memcpy(first.job, known->job, sizeof first.job);
    memcpy(first.owner, known->owner, sizeof first.owner);
    memcpy(first.uid, known->owner, sizeof first.uid);
    *ret_generation = first;
}

static int begin(struct generation *generation, const struct commit_head *head,
                 const struct commit_record *record, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    struct error cause = {0};
    int parsed = tree_parse(record->text ? record->text : "", record->text_size, COMMIT_CAUSE_MAX,
                            &tree, &cause);
    const char *run = parsed == 0 ? tree_text(tree, "run", NULL) : NULL;
    int64_t keeps = tree_integer(tree, "keeps", -1);
    if (!is_run(run) || record->first != generation->number + 1 || keeps > generation->number) {
        return error_set(err, ERROR_INVALID, "commit %lld does not begin generation %lld",
                         (long long)head->number, (long long)generation->number + 1);
    }
    generation->number = record->first;
    generation->keeps = keeps;
    generation->is_ended = generation->has_succeeded = false;
    generation->begun = head->number;
    generation->epoch = head->epoch;
    snprintf(generation->run, sizeof generation->run, "%s", run);
    snprintf(generation->restart, sizeof generation->restart, "%s", tree_text(tree, "restart", ""));
    snprintf(generation->uid, sizeof generation->uid, "%s", head->uid);
    snprintf(generation->job, sizeof generation->job, "%s", head->job);
    return 0;
}

int generation_see(struct generation *generation, const struct commit_head *head,
                   const struct commit_record *record, struct error *err) {
    if (record->type == COMMIT_BEGIN) {
        return begin(generation, head, record, err);
    }
    if (!*generation->uid) { /* owners of earlier releases have none */
        snprintf(generation->uid, sizeof generation->uid, "%s", head->uid);
        snprintf(generation->job, sizeof generation->job, "%s", head->job);
    }
    if (record->type == COMMIT_END) {
        generation->is_ended = true;
        generation->has_succeeded = record->text && record->text_size == strlen(succeeded_text) &&
                                    memcmp(record->text, succeeded_text, record->text_size) == 0;
    } else if (record->type < COMMIT_PUBLISHED) {
        generation->is_ended = false;
    }
    return 0;
}

struct scan {
    struct generation *generation;
    const char *uid;
};

static int on_record(void *context, const struct commit_head *head,
                     const struct commit_record *record, struct error *err) {
    const struct scan *scan = context;
    struct generation *generation = scan->generation;
    bool is_own = strcmp(head->uid, scan->uid) == 0;
    generation->is_joined = is_own || (generation->is_joined && record->type != COMMIT_BEGIN);
    return generation_see(generation, head, record, err);
}

int generation_scan(struct store *output, const struct commit_identity *identity,
                    struct generation *ret_generation, struct error *err) {
    struct commit_identity of_home = *identity;
    struct generation generation;
    if (generation_find_home(output, identity->run, &generation, err) < 0) {
        return -1;
    }
    struct scan scan = {&generation, identity->uid};
    of_home.run = generation.home;
    if (generation.is_there && commit_scan(output, &of_home, on_record, &scan, err) < 0) {
        return -1;
    }
    *ret_generation = generation;
    return 0;
}

bool generation_is_whole(const struct generation *generation) {
    return generation->is_ended && generation->has_succeeded;
}

char *generation_text(const char *run, const char *restart, int64_t keeps) {
    AUTO(tree_freep) json_t *tree = json_pack("{s:s}", "run", run);
    if (*restart) {
        json_object_set_new(tree, "restart", json_string(restart));
    }
    if (keeps >= 0) {
        json_object_set_new(tree, "keeps", json_integer(keeps));
    }
    return json_dumps(tree, JSON_COMPACT);
}

char *generation_name(const char *home, int64_t number, const char *what, const char *suffix) {
    return number > 0 ? x_printf(".windlass/%s/%s-%lld%s", home, what, (long long)number, suffix)
                      : x_printf(".windlass/%s/%s%s", home, what, suffix);
}
