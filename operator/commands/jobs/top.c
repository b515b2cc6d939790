// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/jobs/top.h"

#include "operator/commands/cli_command.h"
#include "operator/commands/jobs/job_where.h"
#include "operator/commands/jobs/process_use.h"
#include "operator/show/text_table.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_MS = 1000, MEBIBYTE = 1 << 20 };

static struct text_table *begin(void) {
    static const char *const head[] = {"POD", "CPU(cores)", "MEMORY", "PROCESSES"};
    struct text_table *table = text_table_new();
    text_table_add(table, head, ARRAY_LEN(head));
    return table;
}

static void finish(struct text_table *table) {
    AUTO(text_freep) char *text = text_table_format(table, "", text_table_width());
    fputs(text, stdout);
    fflush(stdout);
    text_table_free(table);
}

/* What each pod of a run has used in one second. */
static int show_run(const struct run_item *run, struct error *err) {
    const char *state = tree_text(run->record, "state", "");
    AUTO(tree_freep) json_t *before = NULL;
    AUTO(tree_freep) json_t *after = NULL;
    if (!run->is_alive || run->pid == 0) {
        return error_set(err, ERROR_INVALID, "%s does not run here", run->id);
    }
    if (process_use_read(run->pid, state, &before, err) < 0) {
        return -1;
    }
    poll(NULL, 0, SAMPLE_MS);
    if (process_use_read(run->pid, state, &after, err) < 0) {
        return -1;
    }
    struct text_table *table = begin();
    const char *pod;
    json_t *use;
    json_object_foreach(after, pod, use) {
        int64_t used_ms =
            tree_integer(use, "ms", 0) - tree_integer(json_object_get(before, pod), "ms", 0);
        AUTO(text_freep) char *cores = x_printf("%.2f", (double)MAX(used_ms, 0) / SAMPLE_MS);
        AUTO(text_freep)
        char *memory = x_printf("%lldMi", (long long)tree_integer(use, "bytes", 0) / MEBIBYTE);
        AUTO(text_freep) char *count = x_printf("%lld", (long long)tree_integer(use, "count", 0));
        const char *const cells[] = {pod, cores, memory, count};
        text_table_add(table, cells, ARRAY_LEN(cells));
    }
    finish(table);
    return 0;
}

/* From the metrics server of the cluster, in its units. */
static int show_pods(struct remote *remote, const char *name, struct error *err) {
    const struct rest_place place = {.api_version = "metrics.k8s.io/v1beta1", .kind = "Pod"};
    AUTO(tree_freep) json_t *pods = NULL;
    if (remote_made(remote, &place, name, &pods, err) < 0) {
        return err->kind == ERROR_NOT_FOUND
                   ? error_context(err, "the cluster has no metrics server")
                   : -1;
    }
    struct text_table *table = begin();
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);
        const char *const cells[] = {tree_text(pod, "metadata.name", ""),
                                     tree_text(pod, "containers[0].usage.cpu", ""),
                                     tree_text(pod, "containers[0].usage.memory", ""), ""};
        text_table_add(table, cells, ARRAY_LEN(cells));
    }
    finish(table);
    return 0;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    AUTO(job_found_release) struct job_found found = {0};
    (void)ret_code;
    if (job_where_find(context, words->values[0], &found, err) < 0) {
        return -1;
    }
    return found.run ? show_run(found.run, err) : show_pods(&found.remote, words->values[0], err);
}

int top_command(int argc, char **argv) {
    struct job_where where = {0};
    static const struct command_help help = {
        .usage = "windlass top NAME [options]",
        .about =
            "Shows what the pods of a job use: of a run of this machine the cores that they used\n"
            "in one second and their memory; on a cluster what the\n"
            "metrics server reports.",
        .examples = "windlass top style-transfer",
        .words_min = 1,
        .words_max = 1};
    const struct option options[] = {JOB_WHERE_ROWS(&where), {0}};
    const struct cli_command command = {
        .name = "top", .help = &help, .options = options, .run = run, .context = &where};
    return cli_command_run(&command, argc, argv);
}
