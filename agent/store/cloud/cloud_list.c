// SPDX-License-Identifier: Apache-2.0
/* Pages of a service's listing. Services list in the order of the names' bytes, but for accounts
 * with a hierarchical namespace and directory buckets, where "a/b" comes before "a.txt": names out
 * of order are refused, since a listing that continues after a name would miss others. */
#include "agent/store/cloud/cloud_service.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_NAMES = 5000,
    PAGE_NAMES_MIN = 50,
    PAGE_BYTES_MAX = 16 << 20, /* names and metadata are rarely longer; in that case fewer names are
                                  requested */
    MARKER_BYTES_MAX = 8 << 10,
    SHOWN_BYTES = 80,        /* of a name that is too long, in the words about it */
    STALE_PAGES_MAX = 10000, /* in a row: services pass over what they do not show in empty pages */
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
    bool wants_all;
    char last[STORE_NAME_MAX + 1], fault[STORE_NAME_MAX + 512];
    char last_hidden[STORE_NAME_MAX + 1];
    bool has_stopped, is_too_large;   /* the page */
    char highest[STORE_NAME_MAX + 1]; /* of all names, hidden ones too; a longer one is cut */
    bool has_higher;                  /* the page: a name behind all before */
    int stale_pages;                  /* in a row: without one */
    /* A marker that comes again leads in a circle. One is kept for comparison, and replaced after
     * 2, 4, 8, ... pages, so that it is of the circle at some time, and stays for long enough. */
    char *kept;
    int64_t pages, keeps_next;
};

/* The first part of the name that begins with a dot; NULL: none. */
static const char *find_hidden(const char *below) {
    const char *slash = strstr(below, "/.");
    return below[0] == '.' ? below : slash ? slash + 1 : NULL;
}

/* part: of the name. Names below a hidden folder follow each other: the folder is passed on once.
 */
static int pass_hidden(struct listing *listing, char *name, const char *part, struct error *err) {
    char *end = name + (part - name) + strcspn(part, "/");
    const struct store_info info = {.is_left_out = true, .is_folder = *end == '/'};
    end[*end == '/'] = 0;
    if (!listing->wants_all || text_starts(part, ".windlass") ||
        strcmp(name, listing->last_hidden) == 0 ||
        (listing->after && strcmp(name, listing->after) <= 0)) {
        return 0;
    }
    snprintf(listing->last_hidden, sizeof listing->last_hidden, "%s", name);
    int result = listing->each(listing->context, name, &info, err);
    listing->has_stopped = result > 0;
    return MIN(result, 0);
}

/* Why a blob cannot be read under its name (store.c refuses it); NULL: it can. */
static const char *find_fault(const struct cloud_entry *entry, const char *name) {
    size_t length = strlen(name), parts = 1;
    for (const char *at = name; *at; at++) {
        parts += *at == '/';
    }
    return length > STORE_NAME_MAX ? "a name that begins so is longer than 2,048 bytes"
           : name[0] == '/' || strstr(name, "//") ? "its name has two slashes in a row"
           : name[length - 1] == '/'              ? "its name ends with a slash"
           : parts > STORE_DEPTH_MAX              ? "its name has more than 64 parts"
           : entry->is_folder                     ? "it is marked as a folder, and has content"
                                                  : NULL;
}
static_assert(STORE_NAME_MAX == 2048 && STORE_DEPTH_MAX == 64, "the messages above say so");

/* Passes on a blob that comes after those before it. */
static int pass_blob(struct listing *listing, const struct cloud_entry *entry, const char *name,
                     const char *fault, struct error *err) {
    struct store_info info = {0};
    info.is_beyond = strlen(entry->name + listing->folder_size) > STORE_NAME_MAX;
    if (fault) { /* whatever reads it may cut its end */
        int shown = (int)(info.is_beyond ? utf8_valid_size(name, SHOWN_BYTES) : strlen(name));
        snprintf(listing->fault, sizeof listing->fault, "%.300s/%.*s%s: %s", listing->store->path,
                 shown, name, info.is_beyond ? "..." : "", fault);
        info.fault = listing->fault;
    } else {
        info.size_bytes = entry->size_bytes;
        info.modified_ns = cloud_date_ns(entry->modified);
        snprintf(info.token, sizeof info.token, "%s",
                 strlen(entry->token) < sizeof info.token ? entry->token : "");
    }
    int result = listing->each(listing->context, name, &info, err);
    listing->has_stopped = result > 0;
    return result < 0 ? -1 : 0;
}

static int pass_entry(void *context, const struct cloud_entry *entry, struct error *err) {
    struct listing *listing = context;
    const char *path = listing->store->path;
    size_t length = strlen(entry->name);
    if (strncmp(entry->name, listing->highest, STORE_NAME_MAX) > 0) {
        snprintf(listing->highest, sizeof listing->highest, "%s", entry->name);
        listing->has_higher = true;
    }
    if (!text_starts(entry->name, listing->prefix)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "%s: the storage's list is invalid: it has names outside the folder that "
                         "was asked for",
                         path);
    }
    /* Portals and mounts mark an empty folder with a blob that is empty, too. */
    bool is_mark = entry->size_bytes == 0 && (entry->is_folder || entry->name[length - 1] == '/');
    if (listing->has_stopped || is_mark || length == strlen(listing->prefix)) {
        return 0;
    }
    const char *whole = entry->name + listing->folder_size;
    const char *fault = find_fault(entry, whole);
    char name[STORE_NAME_MAX + 1];
    snprintf(name, sizeof name, "%.*s", (int)store_shown_size(whole), whole);
    const char *hidden = find_hidden(name + listing->hidden_from);
    if (hidden) {
        return pass_hidden(listing, name, hidden, err);
    }
    bool is_again = fault && strcmp(name, listing->last) == 0; /* of two that are cut */
    if (is_again || (listing->after && strcmp(name, listing->after) <= 0)) {
        return 0;
    }
    if (strcmp(name, listing->last) <= 0) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s: the storage lists \"%.80s\" after \"%.80s\"; %s", path, name,
                         listing->last, cloud_service_of(listing->store)->other_order);
    }
    snprintf(listing->last, sizeof listing->last, "%s", name);
    return pass_blob(listing, entry, name, fault, err);
}

/* A service that leads in a circle, or to pages without new names again and again, would be asked
 * for ever. next: "": there is none. */
static int check_next(struct listing *listing, const char *next, struct error *err) {
    const char *path = listing->store->path;
    listing->stale_pages = listing->has_higher ? 0 : listing->stale_pages + 1;
    if (strlen(next) > MARKER_BYTES_MAX) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "%s: the storage's list is invalid: the marker of its next page has more "
                         "than %d bytes",
                         path, MARKER_BYTES_MAX);
    }
    if (*next && listing->kept && strcmp(listing->kept, next) == 0) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "%s: the storage's list has no end: after some pages the marker \"%.80s\" "
                         "comes again",
                         path, next);
    }
    if (*next && listing->stale_pages == STALE_PAGES_MAX) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "%s: the storage's list has no end: %d pages in a row have no new name",
                         path, STALE_PAGES_MAX);
    }
    if (listing->pages++ == listing->keeps_next) {
        listing->keeps_next = 2 * listing->pages;
        free(listing->kept);
        listing->kept = x_strdup(next);
    }
    return 0;
}

/* Reads a page from *marker on ("": the first), and sets *marker to the next page (NULL: none). */
static int read_page(struct listing *listing, int names, char **marker, struct error *err) {
    const struct cloud_service *service = cloud_service_of(listing->store);
    const char *folder = ((struct cloud_store *)listing->store)->place->folder;
    AUTO(text_freep)
    char *after =
        listing->after ? x_printf("%s%s%s", folder, *folder ? "/" : "", listing->after) : NULL;
    struct cloud_page page = {.prefix = listing->prefix, .marker = *marker, .after = after};
    snprintf(page.names, sizeof page.names, "%d", names);
    struct cloud_call call = {.method = "GET", .into = listing->page, .room = PAGE_BYTES_MAX};
    service->page_call(&page, &call);
    if (cloud_run(cloud_of(listing->store), &call, 1, err) < 0) {
        listing->is_too_large = call.err.kind == ERROR_EXHAUSTED;
        return -1;
    }
    const char *next = NULL;
    struct error cause = {0};
    listing->has_higher = false;
    if (service->read_page(listing->page, call.received, pass_entry, listing, &next, &cause) < 0) {
        *err = cause;
        return text_starts(cause.text, "not a list")
                   ? error_context(err, "%s", listing->store->path)
                   : -1;
    }
    if (check_next(listing, next, err) < 0) {
        return -1;
    }
    free(*marker);
    *marker = *next ? x_strdup(next) : NULL;
    return 0;
}

static int list_pages(struct listing *listing, const char *prefix, struct error *err) {
    const char *folder = ((struct cloud_store *)listing->store)->place->folder;
    AUTO(text_freep) char *whole = x_printf("%s%s%s", folder, *folder ? "/" : "", prefix);
    AUTO(text_freep) char *page = x_malloc(PAGE_BYTES_MAX), *marker = x_strdup("");
    listing->folder_size = *folder ? strlen(folder) + 1 : 0;
    listing->hidden_from = strlen(prefix);
    listing->prefix = whole;
    listing->page = page;
    if (listing->after && !text_starts(listing->after, prefix) &&
        strcmp(listing->after, prefix) > 0) {
        return 0; /* all names below prefix come before it */
    }
    for (int names = PAGE_NAMES; marker && !listing->has_stopped;) {
        struct error cause = {0};
        listing->is_too_large = false;
        if (read_page(listing, names, &marker, &cause) == 0) {
            continue;
        }
        if (!listing->is_too_large || names == PAGE_NAMES_MIN) {
            *err = cause;
            return -1;
        }
        names /= 10;
    }
    return 0;
}

int cloud_list(struct store *base, const char *prefix, const char *after, store_each *each,
               void *context, struct error *err) {
    struct listing listing = {.store = base, .after = after, .each = each, .context = context};
    int result = list_pages(&listing, prefix, err);
    free(listing.kept);
    return result;
}

int cloud_list_all(struct store *base, const char *prefix, const char *after, store_each *each,
                   void *context, struct error *err) {
    struct listing listing = {
        .store = base, .after = after, .wants_all = true, .each = each, .context = context};
    int result = list_pages(&listing, prefix, err);
    free(listing.kept);
    return result;
}
