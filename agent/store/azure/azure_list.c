// SPDX-License-Identifier: Apache-2.0
/* Pages of List Blobs, 5,000 names each. The service lists in the order of the names' bytes, but
 * for accounts with a hierarchical namespace, where "a/b" comes before "a.txt": names out of order
 * are refused, since a listing that continues after a name would miss others. */
#include "agent/store/azure/azure_folder.h"
#include "agent/store/azure/blob_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_NAMES = 5000,
    PAGE_NAMES_MIN = 50,
    PAGE_BYTES_MAX = 16 << 20, /* names and metadata are rarely longer; in that case fewer names are
                                  requested */
    MARKER_BYTES_MAX = 8 << 10,
};

struct listing {
    struct store *store;
    const char *prefix; /* prefix of all names, with the path's folder */
    char *page;         /* PAGE_BYTES_MAX */
    size_t folder_size; /* bytes of the path's folder with its slash */
    size_t hidden_from; /* bytes of the prefix: names with dots after it are hidden */
    const char *after;
    store_each *each;
    void *context;
    char last[STORE_NAME_MAX + 1];
    bool has_stopped, is_too_large; /* the page */
};

static bool is_hidden(const char *below) {
    return below[0] == '.' || strstr(below, "/.");
}

/* True for a name that store_get would refuse. */
static bool is_odd(const char *name) {
    return name[0] == '/' || strstr(name, "//") || strlen(name) > STORE_NAME_MAX;
}

static int tell(void *context, const struct blob_entry *entry, struct error *err) {
    struct listing *listing = context;
    const char *path = listing->store->path;
    size_t length = strlen(entry->name);
    if (!text_starts(entry->name, listing->prefix)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "%s: not a list of blobs: other names than requested", path);
    }
    if (listing->has_stopped || entry->is_folder || length == strlen(listing->prefix) ||
        entry->name[length - 1] == '/') { /* portals create this for an empty folder */
        return 0;
    }
    const char *name = entry->name + listing->folder_size;
    if (is_hidden(name + listing->hidden_from) ||
        (listing->after && strcmp(name, listing->after) <= 0)) {
        return 0;
    }
    if (is_odd(name)) {
        return error_set(
            err, ERROR_INVALID,
            "%s: \"%.200s\" is not a valid object name: parts between single slashes are "
            "expected, at most %d bytes",
            path, name, STORE_NAME_MAX);
    }
    if (strcmp(name, listing->last) <= 0) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s: the storage lists \"%.80s\" after \"%.80s\"; accounts with a "
                         "hierarchical namespace list in another order: name the files in a "
                         "manifest",
                         path, name, listing->last);
    }
    snprintf(listing->last, sizeof listing->last, "%s", name);
    struct store_info info = {.size_bytes = entry->size_bytes,
                              .modified_ns = azure_date_ns(entry->modified)};
    snprintf(info.token, sizeof info.token, "%s",
             strlen(entry->token) < sizeof info.token ? entry->token : "");
    int result = listing->each(listing->context, name, &info, err);
    listing->has_stopped = result > 0;
    return result < 0 ? -1 : 0;
}

/* Reads a page from *marker on ("": the first), and sets *marker to the next page (NULL: none). */
static int read_page(struct listing *listing, int names, char **marker, struct error *err) {
    char count[16];
    snprintf(count, sizeof count, "%d", names);
    struct azure_parameter all[] = {
        {"comp", "list"},      {"include", "metadata"},     {"marker", *marker},
        {"maxresults", count}, {"prefix", listing->prefix}, {"restype", "container"}};
    struct azure_call call = {.method = "GET", .into = listing->page, .room = PAGE_BYTES_MAX};
    for (size_t i = 0, used = 0; i < ARRAY_LEN(all); i++) {
        if (*all[i].value) {
            call.parameters[used++] = all[i];
        }
    }
    if (azure_run(azure_of(listing->store), &call, 1, err) < 0) {
        listing->is_too_large = call.err.kind == ERROR_EXHAUSTED;
        return -1;
    }
    const char *next = NULL;
    struct error cause = {0};
    if (blob_list_read(listing->page, call.received, tell, listing, &next, &cause) < 0) {
        *err = cause;
        return text_starts(cause.text, "not a list")
                   ? error_context(err, "%s", listing->store->path)
                   : -1;
    }
    if (strlen(next) > MARKER_BYTES_MAX) {
        return error_set(err, ERROR_UNAVAILABLE, "%s: not a list of blobs: the marker is too long",
                         listing->store->path);
    }
    free(*marker);
    *marker = *next ? x_strdup(next) : NULL;
    return 0;
}

int azure_list(struct store *base, const char *prefix, const char *after, store_each *each,
               void *context, struct error *err) {
    const char *folder = ((struct azure_folder *)base)->place.folder;
    struct listing listing = {.store = base,
                              .folder_size = *folder ? strlen(folder) + 1 : 0,
                              .hidden_from = strlen(prefix),
                              .after = after,
                              .each = each,
                              .context = context};
    AUTO(text_freep) char *whole = x_printf("%s%s%s", folder, *folder ? "/" : "", prefix);
    AUTO(text_freep) char *page = x_malloc(PAGE_BYTES_MAX), *marker = x_strdup("");
    listing.prefix = whole;
    listing.page = page;
    if (after && !text_starts(after, prefix) && strcmp(after, prefix) > 0) {
        return 0; /* all names below prefix come before it */
    }
    for (int names = PAGE_NAMES; marker && !listing.has_stopped;) {
        struct error cause = {0};
        listing.is_too_large = false;
        if (read_page(&listing, names, &marker, &cause) == 0) {
            continue;
        }
        if (!listing.is_too_large || names == PAGE_NAMES_MIN) {
            *err = cause;
            return -1;
        }
        names /= 10;
    }
    return 0;
}
