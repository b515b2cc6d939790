/* job_print.h: -o json|yaml|name of the commands that show jobs. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum job_form { JOB_FORM_TABLE, JOB_FORM_WIDE, JOB_FORM_JSON, JOB_FORM_YAML, JOB_FORM_NAME };

#define JOB_FORMS "json|yaml|wide|name"

/* text: the value of -o; NULL: a table. INVALID: another word. */
NODISCARD int job_form_read(const char *text, enum job_form *ret_form, struct error *err);
/* Prints objects: one as itself, several as a List, or their names as kind/name. form: JSON, YAML
 * or NAME. */
NODISCARD int job_print(const json_t *jobs, bool is_list, enum job_form form, struct error *err);
/* A tree as YAML that this program and kubectl read back as the same tree; owned. */
char *job_print_yaml(const json_t *tree);
