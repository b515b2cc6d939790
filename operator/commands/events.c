// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/events.h"

#include "lib/time/clock.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/remote.h"
#include "operator/kinds/kinds.h"
#include "operator/show/text_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command_help help = {
    .usage = "windlass events NAME [options]",
    .about = "Prints the events of a job and its pods, oldest first: those of the controller, the\n"
             "scheduler and the nodes. A cluster keeps events for an hour.",
    .examples = "windlass events style-transfer -n batch",
    .words_min = 1,
    .words_max = 1,
};

/* Events have two sets of time fields, depending on their writer. */
static const char *time_of(const json_t *event) {
    const char *const paths[] = {"lastTimestamp", "series.lastObservedTime", "eventTime",
                                 "firstTimestamp"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const char *text = tree_text(event, paths[i], NULL);
        if (text) {
            return text;
        }
    }
    return tree_text(event, "metadata.creationTimestamp", "");
}

/* Times may have fractions of a second; the first 19 characters are the same in all forms. */
static int64_t milliseconds_of(const json_t *event) {
    char text[21];
    snprintf(text, sizeof text, "%.19sZ", time_of(event));
    return MAX(clock_parse(text), 0);
}

static int by_time(const void *a, const void *b) {
    int64_t one = milliseconds_of(*(json_t *const *)a), two = milliseconds_of(*(json_t *const *)b);
    return (one > two) - (one < two);
}

/* Whether it is the rest of a pod's name behind its job's: "worker-3", "0-2". */
static bool is_pod_rest(const char *rest) {
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        for (const char *const *role = (*row)->roles; role && *role; role++) {
            size_t length = strlen(*role);
            if (text_starts(rest, *role) && rest[length] == '-') {
                return true;
            }
        }
    }
    return strspn(rest, "0123456789-") == strlen(rest);
}

static bool is_of_job(const json_t *event, const char *job) {
    const json_t *about = json_object_get(event, "involvedObject");
    const char *kind = tree_text(about, "kind", ""), *name = tree_text(about, "name", "");
    if (kinds_find(kind)) {
        return strcmp(name, job) == 0;
    }
    /* A deleted pod still has events, so only its name identifies it. */
    const char *rest = remote_short_name(name, job);
    return strcmp(kind, "Pod") == 0 && rest != name && is_pod_rest(rest);
}

static void print(json_t *const *events, size_t count) {
    static const char *const head[] = {"AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"};
    struct text_table *table = text_table_new();
    text_table_add(table, head, ARRAY_LEN(head));
    int64_t now_ms = clock_wall_ms();
    for (size_t i = 0; i < count; i++) {
        const json_t *event = events[i];
        char age[32];
        text_table_age(now_ms - milliseconds_of(event), age);
        int64_t times = tree_integer(event, "count", 1);
        AUTO(text_freep)
        char *when = times > 1 ? x_printf("%s (x%lld)", age, (long long)times) : x_strdup(age);
        AUTO(text_freep) char *object = x_strdup(tree_text(event, "involvedObject.name", ""));
        const char *const cells[] = {when, tree_text(event, "type", ""),
                                     tree_text(event, "reason", ""), object,
                                     tree_text(event, "message", "")};
        text_table_add(table, cells, ARRAY_LEN(cells));
    }
    AUTO(text_freep) char *text = text_table_format(table, "", text_table_width());
    fputs(text, stdout);
    text_table_free(table);
}

static int show(struct remote *remote, const char *name, struct error *err) {
    const struct rest_place place = {.api_version = "v1", .kind = "Event"};
    AUTO(tree_freep) json_t *all = NULL;
    if (remote_list(remote, &place, NULL, &all, err) < 0) {
        return -1;
    }
    json_t **found = x_calloc(json_array_size(all) + 1, sizeof *found);
    size_t count = 0, i;
    json_t *event;
    json_array_foreach(all, i, event) {
        if (is_of_job(event, name)) {
            found[count++] = event;
        }
    }
    qsort(found, count, sizeof *found, by_time);
    if (count > 0) {
        print(found, count);
        free(found);
        return 0;
    }
    free(found);
    AUTO(tree_freep) json_t *job = NULL; /* distinguishes a missing job from a job without events */
    if (remote_job(remote, name, &job, err) < 0) {
        return -1;
    }
    fprintf(stderr, "no events of %s (a cluster keeps them for an hour)\n", name);
    return 0;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    AUTO(remote_release) struct remote remote = {0};
    const struct remote_options *where = context;
    const char *name = words->values[0];
    (void)ret_code;
    if (!where->kubeconfig && !where->context && !remote_is_configured(where)) {
        return error_set(err, ERROR_INVALID,
                         "no cluster is configured, and only a cluster has events; for a run of "
                         "this machine use windlass status %s or windlass logs %s",
                         name, name);
    }
    return remote_open(where, &remote, err) < 0 ? -1 : show(&remote, name, err);
}

int events_command(int argc, char **argv) {
    struct remote_options where = {0};
    const struct option options[] = {REMOTE_ROWS(&where), {0}};
    const struct cli_command command = {
        .name = "events", .help = &help, .options = options, .run = run, .context = &where};
    return cli_command_run(&command, argc, argv);
}
