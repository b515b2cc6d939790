/* local_file.h: an object as a file of this machine, for users' programs and loaders of models. On
 * a volume that is the object itself; for az:// and s3:// it is a copy in a separate folder below
 * $TMPDIR (/tmp), which local_file_release removes. Any thread. */
#pragma once

#include "agent/store/store.h"

struct local_file {
    char *path;      /* for users' programs and messages; others read as below */
    char *folder;    /* of a copy; NULL: `path` is the object itself */
    char *spec_path; /* of the object itself; NULL: a copy */
    bool is_disk;    /* the object itself, on a disk of this machine (store_features) */
};
/* A copy keeps the object's file name, as in "2019/a.jpg", since programs use extensions.
 * NOT_FOUND: no such object; EXHAUSTED: no room; INVALID: the name is not valid for a file here.
 * Else the store's. */
NODISCARD int local_file_make(struct store *store, const char *name, struct local_file *ret_file,
                              struct error *err);
/* The same, and *ret_info is the object's: of a copy as it was read, of the object itself as
 * file_info has it. */
NODISCARD int local_file_make_info(struct store *store, const char *name,
                                   struct local_file *ret_file, struct store_info *ret_info,
                                   struct error *err);
/* Makes a copy from memory; name as above. */
NODISCARD int local_file_write(const char *name, const void *data, size_t size,
                               struct local_file *ret_file, struct error *err);
/* local_file_make of one object by its path (stored_file.h), or a copy of a file that was published
 * (published.h); is_disk is false. */
NODISCARD int local_file_open(const char *spec_path, struct local_file *ret_file,
                              struct error *err);

/* We read the object itself where it is in its volume (path_open), not by `path`: those who may
 * write to the volume can exchange a part of it for a link that leads outside. */

/* file_read of it. ret_info: of what was read, as file_info has it; may be NULL. */
NODISCARD int local_file_read(const struct local_file *file, size_t bytes_max, char **ret_data,
                              size_t *ret_size, struct store_info *ret_info, struct error *err);
/* The file, for reading, and the folder that it is in (path_open_both); the caller closes both. */
NODISCARD int local_file_descriptors(const struct local_file *file, int *ret_fd, int *ret_folder_fd,
                                     struct error *err);
void local_file_release(struct local_file *file); /* also for AUTO; accepts a zeroed one */

/* An empty folder below $TMPDIR (/tmp); the caller removes it and frees the path. */
NODISCARD int local_file_make_folder(char **ret_path, struct error *err);
