// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_children.h"

#include "lib/file.h"
#include "operator/local/local.h"
#include "operator/show/text_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The complete objects, because the cache keeps less of finished ones. */
static json_t *find_made(const struct cluster *cluster, const struct cache *cache,
                         const json_t *job, const char *kind) {
    const char *namespace = tree_text(job, "metadata.namespace", "default");
    AUTO(tree_freep) json_t *kept = cache_owned(cache, kind, job);
    json_t *all = json_array();
    for (size_t i = 0; i < json_array_size(kept); i++) {
        const char *name = tree_text(json_array_get(kept, i), "metadata.name", "");
        const json_t *one = local_find(cluster, kind, namespace, name);
        if (one) {
            json_array_append(all, (json_t *)one);
        }
    }
    return all;
}

static void write_page(struct run_children *children, const struct kind_children *kind,
                       const json_t *job, const json_t *all, const char *folder) {
    struct error err = {0};
    AUTO(text_freep) char *html = NULL;
    AUTO(text_freep) char *path = file_join(folder, kind->page_name);
    if (kind->page(job, all, &html, &err) < 0 || file_write(path, html, strlen(html), &err) < 0) {
        fprintf(stderr, "windlass: no %s: %s\n", kind->page_name, err.text);
        return;
    }
    free(children->page);
    children->page = TAKE(path);
}

void run_children_update(struct run_children *children, const struct cluster *cluster,
                         const struct cache *cache, const json_t *job, const char *folder) {
    const struct kind_children *kind = job ? kinds_of(job)->children : NULL;
    struct error ignored = {0};
    char *table = NULL;
    AUTO(tree_freep) json_t *all = kind ? find_made(cluster, cache, job, kind->kind) : NULL;
    if (json_array_size(all) == 0) {
        return; /* it was refused, or has not begun */
    }
    if (kind->page) {
        write_page(children, kind, job, all, folder);
    }
    if (kind->table && kind->table(job, all, text_table_width(), &table, &ignored) == 0) {
        free(children->table);
        children->table = table;
    }
    if (kind->tree) {
        json_decref(children->tree);
        children->tree = kind->tree(job, all);
    }
    if (kind->failed_pod) {
        free(children->failed_pod);
        children->failed_pod = kind->failed_pod(job, all);
    }
}

void run_children_release(struct run_children *children) {
    json_decref(children->tree);
    free(children->table);
    free(children->page);
    free(children->failed_pod);
}
