/* store.h: named objects in a folder: VOLUME/path on a volume (a disk, NFS, SMB, FUSE),
 * az://account/container/path (azure_place.h), s3://bucket/path or gs://bucket/path (s3_place.h).
 * It offers only what exactly-once.md needs of a storage: an object is written whole or not at all,
 * and STORE_CREATE creates one only if it does not exist.
 *
 * Several threads may use a store at the same time; an upload belongs to one thread. Calls block;
 * on a dead hard mount they never return, so use store_probe.
 *
 * Names are relative to the store: "a/b.json", parts between single slashes, none of them "." or
 * "..", at most STORE_NAME_MAX bytes, any bytes except NUL. Every error begins with the path. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

enum { STORE_NAME_MAX = 2048, STORE_DEPTH_MAX = 64, STORE_TOKEN_MAX = 80 };
#define STORE_PUT_MAX ((size_t)256 << 20)      /* bytes of one store_put; larger: an upload */
#define STORE_UPLOAD_MAX ((int64_t)4096 << 30) /* bytes of one upload */

struct store;
enum store_put_mode { STORE_REPLACE, STORE_CREATE };
struct store_info {
    int64_t size_bytes;
    int64_t modified_ns;         /* since 1970; whole seconds on az://; 0: unknown */
    int64_t changed_ns;          /* of content or status, which no program sets; 0: unknown */
    char token[STORE_TOKEN_MAX]; /* equal means unchanged; never parsed */
    const char *fault; /* of a link that leads to nothing in the volume, or an invalid name: why;
                        * all else is 0. Else NULL. Borrowed */
    bool is_beyond;    /* ... of a name beyond the limits, which is cut, or of a folder ("x/") of
                        * such names: it may match any pattern */
    bool is_folder;    /* ... of a link to a folder, or left out */
    bool is_left_out;  /* only from store_list_all */
};
struct store_abilities {
    bool creates; /* STORE_CREATE: one of several writers succeeds; false: two may, it only looks */
    bool is_local; /* its objects are files of this machine: path.h opens them */
    bool is_disk;  /* ... on a disk of it: stat sees each change; elsewhere only opening the file */
    /* Two changes of an object within this many ms may leave it with the same token; 0: never. */
    int tick_ms;
};

/* writes: creates the folder if it is missing, and checks that it is writable; without it all
 * writes fail with DENIED. INVALID: unknown kind of path; NOT_FOUND: no such volume or folder. */
NODISCARD int store_open(const char *spec_path, bool writes, struct store **ret_store,
                         struct error *err);
void store_free(struct store *store);              /* Accepts NULL. All uploads are freed before. */
void store_freep(struct store **store);            /* for AUTO */
const char *store_path(const struct store *store); /* as it was opened; holds no secret */
struct store_abilities store_features(const struct store *store);
/* Objects of this spec path are files of this machine; pure, nothing is opened. */
bool store_is_local(const char *spec_path);

/* store_probe of a path that is not open: checks that its storage responds within timeout_ms,
 * before opening it, which never returns on a dead hard mount. UNAVAILABLE or TIMEOUT: it is dead;
 * any other result is a response. For a volume its folder is queried; az:// is not checked, since
 * its requests have time limits. */
NODISCARD int store_probe_path(const char *spec_path, int timeout_ms, struct error *err);
/* Checks that the storage responds within timeout_ms. UNAVAILABLE or TIMEOUT: it is dead. */
NODISCARD int store_probe(struct store *store, int timeout_ms, struct error *err);

/* Appends the whole object. NOT_FOUND; INVALID: it exceeds buffer->max. After any failure the
 * buffer may hold a part. ret_info may be NULL; its token is "" if the object has changed while it
 * was read. */
NODISCARD int store_get(struct store *store, const char *name, struct buffer *buffer,
                        struct store_info *ret_info, struct error *err);
/* Which bytes of an object to read, and where to. */
struct store_piece {
    int64_t offset;
    void *data; /* of the caller, at least `size` bytes */
    size_t size;
    const char *token; /* the object's, as it was when it was listed; NULL: any */
};
/* Reads up to piece->size bytes; fewer only at the object's end. NOT_FOUND: no such
 * object; CONFLICT: it has another token now. */
NODISCARD int store_read(struct store *store, const char *name, const struct store_piece *piece,
                         size_t *ret_size, struct error *err);
/* Size, time and token. NOT_FOUND: no such object. */
NODISCARD int store_stat(struct store *store, const char *name, struct store_info *ret_info,
                         struct error *err);
/* The whole object, read piece by piece as it is at the beginning. each: gets the bytes before they
 * count; may be NULL. INVALID: not a file; CONFLICT: it was replaced or cut while it was read. */
struct store_digest {
    int64_t size_bytes;
    char sha256[65];
};
typedef int store_hash_each(void *context, const char *data, size_t size, struct error *err);
NODISCARD int store_hash(struct store *store, const char *name, store_hash_each *each,
                         void *context, struct store_digest *ret_hash, struct error *err);
/* Returns when the object is durable: data and name survive a power failure. Folders are created.
 * CONFLICT: STORE_CREATE found an existing object. After a failure of any kind except CONFLICT,
 * DENIED and INVALID it may have been stored nevertheless; after CONFLICT, too, if the store
 * repeats a request whose response was lost. A caller that alone uses this name can read the
 * object to find out. */
NODISCARD int store_put(struct store *store, const char *name, const void *data, size_t size,
                        enum store_put_mode how, struct error *err);
/* A missing object is not an error. The object may come back after a power failure. */
NODISCARD int store_remove(struct store *store, const char *name, struct error *err);

/* Called by the functions below for each name. Returns -1 with *err, 0 to continue, 1 to stop.
 * info: NULL if the store would have to query it for each name (volumes). Must not free the
 * store. */
typedef int store_each(void *context, const char *name, const struct store_info *info,
                       struct error *err);
/* Calls `each` for the names below prefix ("" or a folder's name with a slash at the end), in order
 * of their bytes, from the first after `after` (a name; NULL: all). Names are complete, as for
 * store_get. A missing folder has none. Parts below prefix that begin with "." are skipped
 * (including the temporaries of store_put), and so are links that do not lead to a file of the
 * volume, and names that store_get refuses. Memory is bounded (about 20 MiB). Concurrent changes
 * may be seen or not; on NFS a listing can be a minute old. 0: also when `each` stopped it. */
NODISCARD int store_list(struct store *store, const char *prefix, const char *after,
                         store_each *each, void *context, struct error *err);
/* Like store_list, and with links that leave the volume, are broken, or lead to a folder that is
 * not listed itself (links to folders are not followed), and names that store_get refuses, cut to
 * STORE_NAME_MAX (those that are the same then once): they have an info with a fault. */
NODISCARD int store_list_links(struct store *store, const char *prefix, const char *after,
                               store_each *each, void *context, struct error *err);
/* Like store_list_links, with info for all: volumes stat each file, which takes a microsecond or,
 * when not cached, a request to the server. */
NODISCARD int store_list_infos(struct store *store, const char *prefix, const char *after,
                               store_each *each, void *context, struct error *err);

/* Like store_list_infos, and with what all of these skip: names that begin with a dot (for a folder
 * one name with a slash at its end, whatever is in it), pipes, sockets and devices. They have
 * is_left_out, and all else is 0. Our own names, ".windlass...", are skipped. */
NODISCARD int store_list_all(struct store *store, const char *prefix, const char *after,
                             store_each *each, void *context, struct error *err);

/* Removes all below prefix, a folder's name with a slash at the end; not "". */
NODISCARD int store_clear(struct store *store, const char *prefix, struct error *err);
/* Removes files that killed writers have left among the objects, except in folders that contain a
 * .windlass. Call it when all writers have ended. */
NODISCARD int store_remove_leftovers(struct store *store, struct error *err);

/* Writes large objects in pieces; the object does not exist before commit, and freeing without
 * commit leaves nothing; it is all that is left after a failure. commit: once; as store_put. */
struct store_upload;
NODISCARD int store_upload_open(struct store *store, const char *name,
                                struct store_upload **ret_upload, struct error *err);
NODISCARD int store_upload_add(struct store_upload *upload, const void *data, size_t size,
                               struct error *err);
NODISCARD int store_upload_commit(struct store_upload *upload, enum store_put_mode how,
                                  struct error *err);
void store_upload_free(struct store_upload *upload);
void store_upload_freep(struct store_upload **upload); /* for AUTO */

/* True for a store's errors that the infrastructure causes, not the data or the program
 * (UNAVAILABLE, TIMEOUT, BUSY, EXHAUSTED, DENIED): the same call may succeed later or on another
 * machine. They include objects that can never be read (permissions, a link out of the volume), so
 * callers must limit retries. */
bool store_error_is_machine(const struct error *err);
