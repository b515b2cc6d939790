/* store.h: named objects in a folder: VOLUME/path on a volume (a disk, NFS, SMB, FUSE), or
 * az://account/container/path (azure_place.h). What exactly-once.md needs of a storage, and no
 * more: an object is written whole or not at all, and STORE_CREATE makes one only if there is none.
 *
 * Any thread may call anything of one store at once; an upload belongs to one thread. Calls block;
 * on a dead hard mount they never return, which is what store_probe is for.
 *
 * Names are relative to the store: "a/b.json", parts between single slashes, none of them "." or
 * "..", at most STORE_NAME_MAX bytes, any bytes but NUL. Every error begins with the path. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

enum { STORE_NAME_MAX = 2048, STORE_DEPTH_MAX = 64, STORE_TOKEN_MAX = 80 };
#define STORE_PUT_MAX ((size_t)256 << 20)      /* bytes of one store_put; larger: an upload */
#define STORE_UPLOAD_MAX ((int64_t)4096 << 30) /* bytes of one upload */

struct store;
enum store_put { STORE_REPLACE, STORE_CREATE };
struct store_info {
    int64_t size_bytes;
    int64_t modified_ns;         /* since 1970; whole seconds on az://; 0: not told */
    char token[STORE_TOKEN_MAX]; /* equal means unchanged; never parsed */
};
struct store_can {
    bool creates;  /* STORE_CREATE excludes others; else it only looks first */
    bool is_local; /* its objects are files of this machine: path.h opens them */
};

/* writes: the folder is made if it is missing, and checked to be writable; otherwise whatever
 * writes fails with DENIED. INVALID: no such kind of path; NOT_FOUND: no such volume or folder. */
NODISCARD int store_open(const char *spec_path, bool writes, struct store **ret_store,
                         struct error *err);
void store_free(struct store *store);              /* NULL is fine. All uploads are freed before. */
void store_freep(struct store **store);            /* for AUTO */
const char *store_path(const struct store *store); /* as it was opened; holds no secret */
struct store_can store_can(const struct store *store);
/* Objects of this spec path are files of this machine; pure, nothing is opened. */
bool store_is_local(const char *spec_path);

/* Before it is opened, which never returns on a dead hard mount: does the storage of this path
 * answer within so many milliseconds? UNAVAILABLE or TIMEOUT: it is dead; all else is an answer. Of
 * a volume its folder is asked; az:// is not, its requests end. */
NODISCARD int store_try(const char *spec_path, int timeout_ms, struct error *err);
/* Does the storage answer within so many milliseconds? UNAVAILABLE or TIMEOUT: it is dead. */
NODISCARD int store_probe(struct store *store, int timeout_ms, struct error *err);

/* Appends the whole object. NOT_FOUND; INVALID when it does not fit below buffer->max (what was
 * appended until then stays). ret_info may be NULL. */
NODISCARD int store_get(struct store *store, const char *name, struct buffer *buffer,
                        struct store_info *ret_info, struct error *err);
/* Up to size bytes from offset into data; fewer only at the end. token (may be NULL): CONFLICT when
 * the object has another one by now. */
NODISCARD int store_read(struct store *store, const char *name, int64_t offset, void *data,
                         size_t size, const char *token, size_t *ret_size, struct error *err);
NODISCARD int store_stat(struct store *store, const char *name, struct store_info *ret_info,
                         struct error *err);
/* Small objects, several at once where the store gains by that (az://): what is_whole afterwards is
 * an object as it was at some moment of the call. Of all others nothing is known: absent, larger
 * than their room, not answered, or not tried, as on volumes. */
struct store_peeked {
    const char *name;
    char *data; /* of the caller */
    size_t room, size;
    bool is_whole;
};
enum { STORE_PEEK_MAX = 32 };
void store_peek(struct store *store, struct store_peeked *objects, size_t count);
/* Returns when it is stored for good: data and name outlast a power cut. Folders are made.
 * CONFLICT: STORE_CREATE found one. After a failure of any other kind than CONFLICT, DENIED and
 * INVALID it may have been stored all the same; and after CONFLICT, too, where the store repeats a
 * request whose answer was lost. Who writes names of no other writer reads the object to know. */
NODISCARD int store_put(struct store *store, const char *name, const void *data, size_t size,
                        enum store_put how, struct error *err);
/* One that is gone already is fine. May come back after a power cut. */
NODISCARD int store_remove(struct store *store, const char *name, struct error *err);

/* Names below prefix ("" or a folder's name with a slash at the end), in order of their bytes, from
 * the first behind `after` (a name; NULL: all). Names are whole: store_get takes them. A folder
 * that is not there has none. Parts below prefix that begin with "." are left out (the temporaries
 * of store_put among them), and so are links that lead to no file of the volume. Memory is bounded
 * (about 20 MiB). What others add or remove meanwhile may be seen or not; on NFS a listing can be a
 * minute old. */
/* Returns -1 with *err, 0 to go on, 1 to stop. info: NULL where the store would have to ask for it
 * name by name (volumes). Must not free the store. */
typedef int store_each(void *context, const char *name, const struct store_info *info,
                       struct error *err);
NODISCARD int store_list(struct store *store, const char *prefix, const char *after,
                         store_each *each, void *context, struct error *err);
/* The same, with info for all: volumes stat each file, which takes a microsecond or, when not
 * cached, a request to the server. */
NODISCARD int store_list_infos(struct store *store, const char *prefix, const char *after,
                               store_each *each, void *context, struct error *err);

/* Removes all below prefix, a folder's name with a slash at the end. */
NODISCARD int store_clear(struct store *store, const char *prefix, struct error *err);
/* Removes what any killed writers have left among the objects, except in folders with a .windlass
 * of their own. For when all writers have ended. */
NODISCARD int store_sweep(struct store *store, struct error *err);

/* Large objects in pieces; nothing is there before commit, freeing without commit leaves nothing.
 * commit: once, as store_put. */
struct store_upload;
NODISCARD int store_upload_open(struct store *store, const char *name,
                                struct store_upload **ret_upload, struct error *err);
NODISCARD int store_upload_add(struct store_upload *upload, const void *data, size_t size,
                               struct error *err);
NODISCARD int store_upload_commit(struct store_upload *upload, enum store_put how,
                                  struct error *err);
void store_upload_free(struct store_upload *upload);
void store_upload_freep(struct store_upload **upload); /* for AUTO */

/* Of an error of a store: the infrastructure's, counts against no mini-batch (UNAVAILABLE, TIMEOUT,
 * BUSY, EXHAUSTED, DENIED). An item that can never be read (permissions, a link out of the volume)
 * is among them: who retries bounds how often. */
bool error_is_machine(const struct error *err);
