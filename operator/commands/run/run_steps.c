// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_steps.h"

#include "operator/commands/run/run_graph.h"
#include "operator/commands/run/run_resume.h"

#include <stdio.h>

/* A job that waits for others gets what they have written. */
static int run_step(const struct run_options *options, struct run_graph *graph, size_t index,
                    run_steps_one *run_one) {
    const struct resource_file *file = &graph->files->at[index];
    const char *failed = run_graph_failed_before(graph, index);
    const char *name = tree_text(file->object, "metadata.name", "");
    AUTO(run_list_release) struct run_list list = {0};
    struct error err = {0}, ignored = {0};
    (void)!run_list_read(&list, &ignored); /* without any, nothing was done before */
    AUTO(tree_freep)
    json_t *earlier = run_resume_earlier(&list, tree_get(file->object, "spec.after"));
    json_t *object = NULL;
    int code = 1;
    bool is_kept = false;
    if (failed) {
        fprintf(stderr, "windlass: skipped: %s, because %s failed\n", name, failed);
    } else if (run_graph_fill(graph, index, options, &object, &err) < 0) {
        fprintf(stderr, "windlass: %s\n", err.text);
        code = error_exit_code(&err);
    } else {
        is_kept = !options->restart && !options->dry_run &&
                  run_graph_is_undisturbed(graph, index) &&
                  run_resume_is_done(&list, object, file->path, options, earlier);
        code = is_kept ? 0 : run_one(options, file, json_incref(object), earlier);
    }
    if (is_kept) {
        fprintf(stderr, "windlass: %s has succeeded before, with the same spec and input\n", name);
    }
    json_decref(object);
    graph->states[index] = is_kept ? RUN_GRAPH_KEPT : code == 0 ? RUN_GRAPH_DONE : RUN_GRAPH_FAILED;
    return code;
}

int run_steps(const struct run_options *options, const struct resource_files *files,
              run_steps_one *run_one) {
    AUTO(run_graph_release) struct run_graph graph = {0};
    int first_code = 0;
    size_t index;
    run_graph_init(&graph, files);
    while (run_graph_next(&graph, &index)) {
        int code = run_step(options, &graph, index, run_one);
        if (code == 130) {
            return code;
        }
        first_code = first_code ? first_code : code;
    }
    return first_code;
}
