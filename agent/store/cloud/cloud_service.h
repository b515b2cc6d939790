/* cloud_service.h: what differs between the services of stores over HTTP: a table of functions for
 * each (azure_store.c, s3_store.c). All else is cloud_client.h and cloud_store.h. */
#pragma once

#include "agent/store/cloud/cloud_client.h"
#include "agent/store/cloud/cloud_store.h"
#include "lib/net/http.h"

/* An object of a listing. Borrowed until the callback returns. */
struct cloud_entry {
    const char *name; /* in the container */
    int64_t size_bytes;
    const char *token;    /* ETag without quotes; "" if there is none */
    const char *modified; /* for cloud_date_ns; "" if it is missing */
    bool is_folder;       /* of a hierarchical namespace, or left by a mount: not an object */
};
/* -1 with *err set ends the reading with that. */
typedef int cloud_each(void *context, const struct cloud_entry *entry, struct error *err);

/* A page of a listing that is requested. */
struct cloud_page {
    const char *prefix; /* of all names, with the store's folder */
    const char *marker; /* from the page before; "": the first page */
    const char *after;  /* a name in the container: earlier ones are not needed; NULL: all */
    char names[16];     /* the most that it may have, as a number */
};

struct cloud_service {
    const char *read_only;   /* in the message about a place that forbids to write */
    const char *other_order; /* in the message about a listing that is not in order */

    /* The requests. check_name: refuses names that the service would change or refuse. */
    int (*check_name)(const struct cloud_place *place, const char *name, struct error *err);
    void (*sign)(const struct cloud_place *place, const struct cloud_call *call,
                 const struct cloud_grant *grant, int64_t wall_ms, struct cloud_signed *ret_signed);
    cloud_read_grant *read_grant;

    /* The responses. note: sets code, is_folder, is_ours and, after a failure, hint. */
    void (*note)(const struct cloud_place *place, struct cloud_call *call,
                 const struct http_answer *answer);
    bool (*is_refused)(const struct cloud_call *call);   /* the credentials are */
    bool (*is_transient)(const struct cloud_call *call); /* besides those of cloud_client.c */
    enum error_kind (*kind_of)(const struct cloud_call *call);

    /* Listings. read_page overwrites the text; *ret_marker points into it: where the next page
     * begins, "" for the last one. UNAVAILABLE, "not a list ...": it is not one. */
    void (*page_call)(const struct cloud_page *page, struct cloud_call *call);
    int (*read_page)(char *text, size_t size, cloud_each *each, void *context,
                     const char **ret_marker, struct error *err);

    /* Writing. put_large: of more than CLOUD_PIECE_BYTES; NULL: one request, as for others. */
    int (*put_large)(struct store *store, const char *name, const void *data, size_t size,
                     enum store_put_mode how, struct error *err);
    int64_t (*piece_bytes)(int64_t index); /* of an upload's piece */
    int64_t pieces_max;
    /* Before the first piece; NULL: nothing. It may set the upload's spool instead. After a failure
     * it has left nothing. */
    int (*begin)(struct cloud_upload *upload, struct error *err);
    void (*piece_call)(struct cloud_upload *upload, int64_t index, struct cloud_piece *piece);
    void (*piece_done)(struct cloud_upload *upload, const struct cloud_piece *piece); /* or NULL */
    int (*commit)(struct cloud_upload *upload, enum store_put_mode how, struct error *err);
    void (*abandon)(struct cloud_upload *upload); /* a begun one without commit; or NULL */

    /* Asks, changing nothing that stays, whether the store can be read, or written. */
    int (*probe)(struct cloud_store *store, bool writes, int64_t deadline_ms, struct error *err);
    void (*place_free)(struct cloud_place *place);
};

/* The functions of a service's row in store_open.c, all but open. */
#define CLOUD_STORE_OPS                                                                            \
    .free = cloud_free, .features = cloud_features, .probe = cloud_probe, .get = cloud_get,        \
    .read = cloud_read, .stat = cloud_stat, .ask = cloud_ask, .peek = cloud_peek,                  \
    .put = cloud_put, .remove = cloud_remove, .list = cloud_list, .list_all = cloud_list_all,      \
    .clear = cloud_clear, .upload_open = cloud_upload_open, .upload_add = cloud_upload_add,        \
    .upload_commit = cloud_upload_commit, .upload_free = cloud_upload_free
