/* import_pod.h: a pod template of another kind of job as fields of a DistTrain. */
#pragma once

#include "operator/kinds/import/import_notes.h"

struct import_pod {
    const json_t *template; /* metadata and spec of a pod */
    const char *where;      /* before its fields in what is left out: "Worker." */
    const char *container;  /* the one with the program; NULL: the first */
    bool has_program;       /* its command becomes spec.command */
    bool has_place;         /* its image, resources and scheduling become the job's */
    bool is_change;         /* of a pod that another template has: it needs no image */
};

/* Environment and volumes are added in any case: a second pod of the same job adds to the first. */
void import_take_pod(struct import *import, const struct import_pod *pod);

/* The parts for jobs without a pod template. */
void import_environment(struct import *import, const json_t *list, const char *where);
/* Notes at that field that a variable with such a name may be a key or a password. */
void import_note_secret(struct import *import, const char *field, const char *variable);
void import_resources(struct import *import, const json_t *resources);
void import_program(struct import *import, const json_t *command, const json_t *arguments);
/* Notes what an image must be able to do without. */
void import_image(struct import *import, const char *image);
/* Merges members into the container `agent` of spec.template, and into its pod. */
json_t *import_template(struct import *import, const char *part);
json_t *import_agent(struct import *import);
