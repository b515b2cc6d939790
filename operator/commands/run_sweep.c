// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run_sweep.h"

#include "lib/file.h"
#include "operator/commands/progress.h"
#include "operator/commands/sweep_facts.h"
#include "operator/commands/table.h"
#include "operator/kinds/disttrain/reconcile.h"
#include "operator/local/local.h"
#include "operator/resource.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int run_sweep_open(struct run_sweep *sweep, struct error *err) {
    if (resource_schema(disttrain_kind.api_version, disttrain_kind.name, &sweep->train, err) < 0) {
        return -1;
    }
    sweep->options = (struct sweep_options){.train = sweep->train};
    return 0;
}

/* Whole, where the cache keeps less of those that have ended. */
static json_t *find_trials(const struct cluster *cluster, const struct cache *cache,
                           const json_t *object) {
    const char *namespace = tree_text(object, "metadata.namespace", "default");
    AUTO(tree_freep) json_t *kept = cache_owned(cache, disttrain_kind.name, object);
    json_t *trials = json_array();
    for (size_t i = 0; i < json_array_size(kept); i++) {
        const char *name = tree_text(json_array_get(kept, i), "metadata.name", "");
        const json_t *trial = local_find(cluster, disttrain_kind.name, namespace, name);
        if (trial) {
            json_array_append(trials, (json_t *)trial);
        }
    }
    return trials;
}

static int write_page(struct run_sweep *sweep, const struct sweep_facts *facts, const char *folder,
                      struct error *err) {
    AUTO(text_freep) char *html = NULL;
    AUTO(text_freep) char *path = file_join(folder, "sweep.html");
    if (sweep_html(facts, &html, err) < 0 || file_write(path, html, strlen(html), err) < 0) {
        return -1;
    }
    free(sweep->page);
    sweep->page = TAKE(path);
    return 0;
}

void run_sweep_update(struct run_sweep *sweep, const struct cluster *cluster,
                      const struct cache *cache, const json_t *object, const char *folder) {
    struct error err = {0};
    AUTO(sweep_view_freep) struct sweep_view *view = NULL;
    AUTO(tree_freep) json_t *trials = object ? find_trials(cluster, cache, object) : NULL;
    if (json_array_size(trials) == 0) {
        return; /* it was refused, or nothing has begun */
    }
    if (sweep_view_new(object, trials, &view, &err) < 0 ||
        write_page(sweep, sweep_view_facts(view), folder, &err) < 0) {
        fprintf(stderr, "windlass: no sweep.html: %s\n", err.text);
    }
    if (!view) {
        return;
    }
    const struct sweep_trial *failed = sweep_view_failed(view);
    free(sweep->table);
    free(sweep->failed_pod);
    sweep->table = sweep_table(sweep_view_facts(view), table_width());
    sweep->failed_pod = failed ? x_printf("%s-0", failed->name) : NULL;
}

void run_sweep_print_page(const struct run_sweep *sweep) {
    if (sweep->page) {
        printf("  %-8s %s\n", "sweep", sweep->page);
    }
    fflush(stdout);
}

int run_sweep_print(const struct run_sweep *sweep, const struct ending *ending) {
    const json_t *condition = progress_condition(ending->status);
    bool is_well = strcmp(tree_text(condition, "status", ""), "True") == 0;
    if (is_well) {
        printf("%s succeeded in %.1f s: %s\n", ending->name,
               (double)MAX(ending->elapsed_ms, 1) / 1000, tree_text(condition, "message", ""));
    }
    fputs(sweep->table ? sweep->table : "", stdout);
    run_sweep_print_page(sweep);
    if (!is_well) {
        return ending_print(ending);
    }
    printf("  %-8s %s\n", "logs", ending->state_folder);
    fflush(stdout);
    return 0;
}

void run_sweep_release(struct run_sweep *sweep) {
    schema_free(sweep->train);
    free(sweep->table);
    free(sweep->page);
    free(sweep->failed_pod);
}
