/* ui_source.h: where the jobs of `windlass ui` come from: the runs of this machine, and a cluster.
 * Each fills rows into the same table (ui_table.h), and is asked for the rest of a job by its key:
 * the source's prefix ("run/", "job/") and what the source has put behind it. All but `look` come
 * from the server's thread, one at a time. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum ui_page { UI_PAGE_REPORT, UI_PAGE_CHILDREN };

/* A picture of a job's input or output. */
struct ui_picture {
    char *bytes; /* owned by who asked */
    size_t size;
    const char *type; /* "image/png" */
};

struct ui_source {
    const struct ui_source_ops *ops;
};

struct ui_source_ops {
    const char *prefix;
    /* Brings the rows up to date, if that is due; somebody looks at them. NULL: they are. */
    void (*look)(struct ui_source *source);
    /* rest: the key without the prefix. Results are owned. NOT_FOUND: there is no such job.
     * The job: ui_detail.h. */
    int (*job)(struct ui_source *source, const char *rest, json_t **ret_job, struct error *err);
    /* [{"pod", "lines": the last lines of its log}]. */
    int (*logs)(struct ui_source *source, const char *rest, json_t **ret_logs, struct error *err);
    /* A page that the job has left: report.html, or that of the jobs it has made. */
    int (*page)(struct ui_source *source, const char *rest, enum ui_page page, char **ret_html,
                struct error *err);
    /* By a token that the job's `pictures` has. NULL: there are none. */
    int (*picture)(struct ui_source *source, const char *rest, const char *token,
                   struct ui_picture *ret_picture, struct error *err);
    /* The words behind `windlass ACTION` for the job: an array of texts. */
    int (*words)(struct ui_source *source, const char *rest, json_t **ret_words, struct error *err);
};
