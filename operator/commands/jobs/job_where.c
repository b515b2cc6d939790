// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/jobs/job_where.h"

#include "lib/text/nearest.h"

#include <stdlib.h>
#include <string.h>

bool job_where_is_remote(const struct job_where *where) {
    const struct remote_options *remote = &where->remote;
    return remote->all || remote->namespace || remote->context || remote->kubeconfig;
}

/* " (did you mean scoring?)"; owned. */
static char *advice(const struct run_list *runs, const char *name) {
    AUTO(tree_freep) json_t *names = json_object();
    for (size_t i = 0; i < runs->count; i++) {
        json_object_set_new(names, tree_text(runs->at[i].record, "name", ""), json_true());
    }
    const char *near = nearest_key(names, name);
    return near ? x_printf("did you mean %s?", near) : x_strdup("windlass list shows them");
}

int job_where_open(const struct job_where *where, const struct run_list *runs, const char *name,
                   struct remote *ret_remote, struct error *err) {
    if (job_where_is_remote(where)) {
        return remote_open(&where->remote, ret_remote, err);
    }
    AUTO(text_freep) char *say = advice(runs, name);
    if (!remote_is_configured(&where->remote)) {
        return error_set(err, ERROR_INVALID,
                         "no run of this machine is named %s (%s), and no cluster is configured",
                         name, say);
    }
    return remote_open(&where->remote, ret_remote, err) == 0
               ? 0
               : error_context(err,
                               "no run of this machine is named %s (%s), and no cluster can be "
                               "asked",
                               name, say);
}

static int find_remote(const struct job_where *where, const char *name, struct job_found *found,
                       struct error *err) {
    return job_where_open(where, &found->runs, name, &found->remote, err) < 0
               ? -1
               : remote_job(&found->remote, name, &found->job, err);
}

int job_where_find(const struct job_where *where, const char *name, struct job_found *ret_found,
                   struct error *err) {
    struct job_found found = {0};
    bool is_remote = job_where_is_remote(where);
    if (is_remote && where->here) {
        return error_set(err, ERROR_INVALID,
                         "--local is this machine, -n, --context and --kubeconfig a cluster: give "
                         "one of them");
    }
    if (!is_remote && run_list_read(&found.runs, err) < 0) {
        return -1;
    }
    found.run = run_list_find(&found.runs, name);
    if (found.run) {
        found.job = run_list_job(found.run);
    } else if (where->here) {
        AUTO(text_freep) char *say = advice(&found.runs, name);
        run_list_release(&found.runs);
        return error_set(err, ERROR_INVALID, "no run of this machine is named %s (%s)", name, say);
    } else if (find_remote(where, name, &found, err) < 0) {
        job_found_release(&found);
        return -1;
    }
    *ret_found = found;
    return 0;
}

void job_found_release(struct job_found *found) {
    json_decref(found->job);
    run_list_release(&found->runs);
    remote_release(&found->remote);
    *found = (struct job_found){0};
}

struct rest_place job_found_place(const struct job_found *found) {
    return (struct rest_place){.api_version = tree_text(found->job, "apiVersion", ""),
                               .kind = tree_text(found->job, "kind", ""),
                               .name = tree_text(found->job, "metadata.name", "")};
}

int job_found_look_again(struct job_found *found, struct error *err) {
    const struct job_where here = {.here = true};
    AUTO(text_freep) char *id = x_strdup(found->run->id);
    job_found_release(found);
    return job_where_find(&here, id, found, err);
}
