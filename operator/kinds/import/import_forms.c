// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/import/import_forms.h"

#include "operator/kinds/import/batchai/import_job.h"
#include "operator/kinds/import/import_batch.h"
#include "operator/kinds/import/import_kubeflow.h"
#include "operator/kinds/import/import_write.h"

#include <ctype.h>
#include <string.h>

enum { NAME_MAX_BYTES = 52 };

static bool is_batchai(const json_t *object) {
    return json_is_object(json_object_get(object, "properties")) &&
           !json_object_get(object, "kind");
}

const struct import_form import_forms[] = {
    {"an MPIJob of Kubeflow", "DistTrain", "kubeflow.org", "MPIJob", NULL, import_mpi},
    {"a PyTorchJob of Kubeflow", "DistTrain", "kubeflow.org", "PyTorchJob", NULL, import_pytorch},
    {"a TrainJob of Kubeflow", "DistTrain", "trainer.kubeflow.org", "TrainJob", NULL,
     import_trainjob},
    {"a RayJob", "DistTrain", "ray.io", "RayJob", NULL, import_rayjob},
    {"an Experiment of Katib", "Sweep", "kubeflow.org", "Experiment", NULL, import_katib},
    {"an indexed Job", "BatchScore", "batch", "Job", NULL, import_indexed},
    {"a parallel job of Azure Machine Learning", "BatchScore", NULL, NULL, import_is_parallel,
     import_parallel},
    {"a job.json of Azure Batch AI", "DistTrain", NULL, NULL, is_batchai, import_job},
    {0},
};

static bool is_of(const struct import_form *form, const json_t *object) {
    const char *version = tree_text(object, "apiVersion", "");
    size_t length = form->group ? strlen(form->group) : 0;
    return form->group ? strncmp(version, form->group, length) == 0 && version[length] == '/' &&
                             strcmp(tree_text(object, "kind", ""), form->kind) == 0
                       : form->is(object);
}

const struct import_form *import_find(const json_t *object) {
    const struct import_form *form = import_forms;
    while (form->from && !is_of(form, object)) {
        form++;
    }
    return form->from ? form : NULL;
}

char *import_name(const json_t *object) {
    const char *name = tree_text(object, "metadata.name", tree_text(object, "name", NULL));
    bool is_name = name && islower((unsigned char)*name) && strlen(name) <= NAME_MAX_BYTES &&
                   !text_ends(name, "-");
    for (const char *at = name; is_name && *at; at++) {
        is_name = islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '-';
    }
    return is_name ? x_strdup(name) : NULL;
}

/* "MPIJob (kubeflow.org/v1), ..."; owned. */
static char *known_forms(void) {
    char *known = x_strdup("");
    for (const struct import_form *form = import_forms; form->from; form++) {
        AUTO(text_freep) char *before = known;
        known = x_printf("%s%s%s", before, *before ? ", " : "", form->from);
    }
    return known;
}

static int find_only(const json_t *documents, const json_t **ret_object, struct error *err) {
    const json_t *found = NULL;
    for (size_t i = 0; i < json_array_size(documents); i++) {
        const json_t *one = json_array_get(documents, i);
        if (import_find(one) && found) {
            return error_set(err, ERROR_INVALID,
                             "has several jobs (%s): put each into a file of its own",
                             import_find(one)->from);
        }
        found = import_find(one) ? one : found;
    }
    if (!found) {
        AUTO(text_freep) char *known = known_forms();
        return error_set(err, ERROR_INVALID, "not a job that import knows; it knows %s", known);
    }
    *ret_object = found;
    return 0;
}

static int fill_trial(struct import *trial, const json_t *object, struct error *err) {
    const struct import_form *form = import_find(object);
    if (!form || strcmp(form->made, "DistTrain") != 0) {
        return error_set(err, ERROR_INVALID,
                         "kind: %.60s is not supported; Job, MPIJob, PyTorchJob, TrainJob and "
                         "RayJob are",
                         tree_text(object, "kind", "none"));
    }
    return form->fill(trial, object, err);
}

int import_documents(const json_t *documents, const char *name, const char *fallback,
                     char **ret_text, struct error *err) {
    const json_t *object = NULL;
    if (find_only(documents, &object, err) < 0) {
        return -1;
    }
    const struct import_form *form = import_find(object);
    AUTO(text_freep) char *own = import_name(object);
    AUTO(import_release) struct import import;
    import_init(&import, name ? name : own ? own : fallback);
    import.documents = documents;
    import.fill_trial = fill_trial;
    for (size_t i = 0; i < json_array_size(documents); i++) {
        const json_t *one = json_array_get(documents, i);
        if (one != object && !text_ends(tree_text(one, "kind", ""), "TrainingRuntime")) {
            import_leave_out(&import, "%.60s %.80s: another object of the file, as it is",
                             tree_text(one, "kind", "a document"),
                             tree_text(one, "metadata.name", ""));
        }
    }
    return form->fill(&import, object, err) < 0
               ? -1
               : import_write(&import, form->made, form->from, ret_text, err);
}
