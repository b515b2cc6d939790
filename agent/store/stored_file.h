/* stored_file.h: one object by its spec path, VOLUME/path/in/it or az://ACCOUNT/CONTAINER/path; and
 * an object as a file of this machine, for those who need one: programs of users, loaders of
 * models. On a volume that is the object itself; of az:// it is a copy in a folder of its own below
 * $TMPDIR (/tmp), which goes with its release. Any thread.
 *
 * FOLDER/latest/FILE, where FOLDER/latest is not a folder but an object that names a version (what
 * registered.h writes), is FOLDER/VERSION/FILE: the newest one when it is opened. */
#pragma once

#include "agent/store/store.h"

struct stored_file {
    struct store *store; /* the folder it is in; owned */
    char *name;          /* the last part of the path */
};
/* The path that is meant, of one through `latest`; else the same. The caller frees. UNAVAILABLE and
 * what else a store says: it cannot be known. */
NODISCARD int stored_file_path(const char *spec_path, char **ret_path, struct error *err);
/* Only the folder is opened: whether the object is there shows when it is asked for. INVALID: the
 * path has no last part. */
NODISCARD int stored_file_open(const char *spec_path, struct stored_file *ret_file,
                               struct error *err);
void stored_file_release(struct stored_file *file); /* for AUTO, too; a zeroed one is fine */

struct local_file {
    char *path;
    char *folder; /* of a copy; NULL: the path is the object's own */
};
/* A copy ends as the object is named, "2019/a.jpg": endings mean something to programs. EXHAUSTED:
 * no room for it; INVALID: a name that no file here can have. */
NODISCARD int local_file_make(struct store *store, const char *name, struct local_file *ret_file,
                              struct error *err);
/* A copy of what is in memory already; name likewise. */
NODISCARD int local_file_write(const char *name, const void *data, size_t size,
                               struct local_file *ret_file, struct error *err);
NODISCARD int local_file_open(const char *spec_path, struct local_file *ret_file,
                              struct error *err);
void local_file_release(struct local_file *file); /* for AUTO, too; a zeroed one is fine */

/* An empty folder below $TMPDIR; the caller removes and frees it. */
NODISCARD int temporary_folder(char **ret_path, struct error *err);
