/* resource_files.h: reads the manifests of the options -f, as kubectl does: files, folders (their
 * *.yaml, *.yml and *.json, by name, without folders in them), "-" for standard input; each may
 * have several resources. */
#pragma once

#include "lib/options.h"
#include "lib/tree.h"
#include "operator/resource.h"

enum { RESOURCE_FILES_MAX = 256 /* resources, and files of a folder */ };

struct resource_file {
    char *path;         /* the file that it is in; "standard input" */
    json_t *object;     /* as of resource.h; NULL: refused */
    json_t *parameters; /* its spec.parameters before --set; NULL: none */
    json_t *written;    /* as the file has it; NULL: the file cannot be read */
    struct error why;   /* if it was refused */
    json_t *more;       /* texts of further errors; NULL: none */
    json_t *shown;      /* as of resource.h; NULL: none */
};

struct resource_files {
    struct resource_file *at;
    size_t count;
};

/* paths: the values of -f, at least one. use: as for resource_load_each (resource.h). sets:
 * NAME=VALUE of --set, for the resources that have such a parameter; NULL: none. A file that cannot
 * be read and a resource that is refused are entries, so that a caller can report all of them.
 * ERROR_INVALID: more than the maximum, "-" twice, a path without any resource, or another form of
 * a set. */
NODISCARD int resource_files_read(const struct option_list *paths, enum resource_use use,
                                  const struct option_list *sets, struct resource_files *ret_files,
                                  struct error *err);
/* Refuses a value of --set whose parameter none of the resources has. */
NODISCARD int resource_files_check_sets(const struct resource_files *files,
                                        const struct option_list *sets, struct error *err);
/* Puts the values of spec.parameters in place in the resources that are right. */
void resource_files_fill(struct resource_files *files);
/* Leaves out the resources of other names, the refused ones, too; a file that cannot be read stays.
 */
void resource_files_keep(struct resource_files *files, const char *name);
/* Calls for each error of a refused resource, in the order of the file's checks; lines: the excerpt
 * of the manifest that belongs below it, or "". */
void resource_file_errors(const struct resource_file *file,
                          void (*each)(void *context, const char *text, const char *lines),
                          void *context);
void resource_files_release(struct resource_files *files); /* for AUTO, too */
