/* stored_file.h: one object by its spec path, VOLUME/path/in/it or az://ACCOUNT/CONTAINER/path; and
 * an object as a local file, for users' programs and loaders of models. On a volume that is the
 * object itself; for az:// it is a copy in a separate folder below $TMPDIR (/tmp), which
 * local_file_release removes. Any thread.
 *
 * FOLDER/latest/FILE, where FOLDER/latest is not a folder but an object that names a version (what
 * registered.h writes), is FOLDER/VERSION/FILE: the newest one when it is opened. */
#pragma once

#include "agent/store/store.h"

struct stored_file {
    struct store *store; /* the folder it is in; owned */
    char *name;          /* the last part of the path */
};
/* Resolves a path through `latest`; other paths are returned unchanged. The caller frees.
 * UNAVAILABLE and other errors of the store: it cannot be resolved. */
NODISCARD int stored_file_path(const char *spec_path, char **ret_path, struct error *err);
/* Opens only the folder; a missing object is detected when it is read. INVALID: the path has no
 * last part. */
NODISCARD int stored_file_open(const char *spec_path, struct stored_file *ret_file,
                               struct error *err);
void stored_file_release(struct stored_file *file); /* for AUTO, too; a zeroed one is fine */

struct local_file {
    char *path;
    char *folder; /* of a copy; NULL: `path` is the object itself */
};
/* A copy keeps the object's file name, as in "2019/a.jpg", since programs use extensions.
 * EXHAUSTED: no room; INVALID: the name is not valid for a file here. */
NODISCARD int local_file_make(struct store *store, const char *name, struct local_file *ret_file,
                              struct error *err);
/* Makes a copy from memory; name as above. */
NODISCARD int local_file_write(const char *name, const void *data, size_t size,
                               struct local_file *ret_file, struct error *err);
NODISCARD int local_file_open(const char *spec_path, struct local_file *ret_file,
                              struct error *err);
void local_file_release(struct local_file *file); /* for AUTO, too; a zeroed one is fine */

/* An empty folder below $TMPDIR; the caller removes and frees it. */
NODISCARD int temporary_folder(char **ret_path, struct error *err);
