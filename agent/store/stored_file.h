/* stored_file.h: one object by its path, VOLUME/path/in/it, az://ACCOUNT/CONTAINER/path,
 * s3://BUCKET/path or gs://BUCKET/path. Any thread.
 *
 * FOLDER/latest/FILE, where FOLDER/latest is not a folder but an object that names a version (what
 * registered.h writes), is FOLDER/VERSION/FILE: the newest one when it is opened. The processes of
 * a run have such paths resolved before (moving_paths.h). */
#pragma once

#include "agent/store/store.h"

/* The path behind its scheme (az://, s3://, gs://); a volume's path as it is. Pure, borrowed. */
const char *stored_file_skip_scheme(const char *spec_path);
/* What follows the container of az://ACCOUNT/CONTAINER/path or the bucket of s3://BUCKET/path,
 * "/path" or ""; NULL: a path of a volume. Pure, borrowed. */
const char *stored_file_below_container(const char *spec_path);

struct stored_file {
    struct store *store; /* the folder it is in; owned */
    char *name;          /* the last part of the path */
};
/* Where "/latest/" begins, for a path that may go through one; NULL: it does not. Pure. */
const char *stored_file_find_latest(const char *spec_path);
/* Resolves a path through `latest`; other paths are returned unchanged. The caller frees.
 * UNAVAILABLE and other errors of the store: it cannot be resolved. */
NODISCARD int stored_file_path(const char *spec_path, char **ret_path, struct error *err);
/* Opens only the folder, for reading; a missing object is detected when it is read. INVALID: the
 * path has no last part. Else store_open's, and those of stored_file_path. */
NODISCARD int stored_file_open(const char *spec_path, struct stored_file *ret_file,
                               struct error *err);
void stored_file_release(struct stored_file *file); /* also for AUTO; accepts a zeroed one */
