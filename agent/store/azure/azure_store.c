// SPDX-License-Identifier: Apache-2.0
/* The store of Azure Blob Storage: its tables of functions. */
#include "agent/store/azure/azure_store.h"

#include "agent/store/azure/blob_list.h"
#include "lib/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_MAX_CHARACTERS = 1024 };

/* Sends a request that changes nothing but needs all the required rights: a reader reads a blob
 * that does not exist; a writer replaces one with a token that no blob has. */
static int azure_probe(struct cloud_store *store, bool writes, int64_t deadline_ms,
                       struct error *err) {
    struct cloud_call call = {.method = "HEAD",
                              .name = ".windlass-probe",
                              .shown = "",
                              .accepts = 404,
                              .deadline_ms = deadline_ms};
    if (writes) {
        call.method = "PUT";
        call.body = "";
        call.if_match = "0x0";
        call.accepts = 412;
    }
    struct error cause = {0};
    int result = cloud_run(store->account, &call, 1, &cause);
    if (strcmp(call.code, "ContainerNotFound") == 0) {
        return error_set(err, ERROR_NOT_FOUND, "%s: container not found",
                         cloud_account_path(store->account));
    }
    if (result < 0) {
        *err = cause;
    }
    return result;
}

static void azure_place_free(struct cloud_place *base) {
    azure_place_release((struct azure_place *)base);
    free(base);
}

/* ---- requests and responses ----------------------------------------------------------------- */

static int check_name(const struct cloud_place *place, const char *name, struct error *err) {
    size_t length = strlen(name), characters = strlen(place->folder) + 1;
    for (size_t i = 0; i < length; i++) {
        characters += ((unsigned char)name[i] & 0xC0) != 0x80;
    }
    if (length && (utf8_valid_size(name, length) < length || strchr(name, '\\') ||
                   characters > NAME_MAX_CHARACTERS)) {
        return error_set(err, ERROR_INVALID,
                         "not a valid name for Blob Storage: expected UTF-8 of at most %d "
                         "characters without backslashes",
                         NAME_MAX_CHARACTERS);
    }
    return 0;
}

/* Whether it is a folder: like in lists (blob_list.c). */
static void note(const struct cloud_place *place UNUSED, struct cloud_call *call,
                 const struct http_answer *answer) {
    const char *code = http_answer_header(answer, "x-ms-error-code");
    const char *type = http_answer_header(answer, "x-ms-resource-type");
    const char *mark = http_answer_header(answer, "x-ms-meta-hdi_isfolder");
    cloud_copy_shown(call->code, sizeof call->code, code, code ? strlen(code) : 0);
    call->is_folder =
        (type && strcmp(type, "directory") == 0) || (mark && strcasecmp(mark, "true") == 0);
    if (strcmp(call->code, "BlobAlreadyExists") == 0) {
        snprintf(call->hint, sizeof call->hint, ": already exists");
    }
}

static bool is_refused(const struct cloud_call *call) {
    return call->status == 401 || call->status == 403 ||
           strcmp(call->code, "InvalidAuthenticationInfo") == 0;
}

static bool is_transient(const struct cloud_call *call UNUSED) {
    return false;
}

static enum error_kind kind_of(const struct cloud_call *call) {
    bool is_create = call->if_none_match != NULL;
    if (is_refused(call)) {
        return is_create && strcmp(call->code, "UnauthorizedBlobOverwrite") == 0 ? ERROR_CONFLICT
                                                                                 : ERROR_DENIED;
    }
    switch (call->status) {
    case 404:
        return ERROR_NOT_FOUND;
    case 409:
        return is_create && strcmp(call->code, "BlobAlreadyExists") == 0 ? ERROR_CONFLICT
               : strstr(call->code, "Immutable")                         ? ERROR_DENIED
                                                                         : ERROR_UNAVAILABLE;
    case 412:
        return call->if_match || is_create ? ERROR_CONFLICT : ERROR_DENIED; /* or it is leased */
    case 429:
    case 503:
        return ERROR_BUSY;
    case 400:
        /* Another writer has written the object meanwhile, which drops the blocks of all others. */
        return strcmp(call->code, "InvalidBlockList") == 0 ? ERROR_UNAVAILABLE : ERROR_INVALID;
    case 411:
    case 413:
    case 414:
        return ERROR_INVALID;
    default:
        return ERROR_UNAVAILABLE;
    }
}

static void page_call(const struct cloud_page *page, struct cloud_call *call) {
    const struct cloud_parameter all[] = {{"comp", "list"},         {"include", "metadata"},
                                          {"marker", page->marker}, {"maxresults", page->names},
                                          {"prefix", page->prefix}, {"restype", "container"}};
    for (size_t i = 0, used = 0; i < ARRAY_LEN(all); i++) {
        if (*all[i].value) {
            call->parameters[used++] = all[i];
        }
    }
}

static const struct cloud_service azure_service = {
    .read_only = "account is read-only (spec.stores[].readOnly)",
    .other_order = "accounts with a hierarchical namespace list in another order: name the files "
                   "in a manifest",
    .check_name = check_name,
    .sign = azure_sign,
    .read_grant = azure_read_grant,
    .note = note,
    .is_refused = is_refused,
    .is_transient = is_transient,
    .kind_of = kind_of,
    .page_call = page_call,
    .read_page = blob_list_read,
    .put_large = azure_put_blocks,
    .piece_bytes = azure_block_bytes,
    .pieces_max = AZURE_BLOCKS_MAX,
    .piece_call = azure_piece_call,
    .commit = azure_commit,
    .probe = azure_probe,
    .place_free = azure_place_free,
};

static int azure_open(const char *spec_path, bool writes, struct store **ret_store,
                      struct error *err) {
    struct azure_place place;
    if (azure_place_read(spec_path, &place, err) < 0) {
        return error_context(err, "%.200s", spec_path);
    }
    struct azure_place *kept = x_malloc(sizeof *kept);
    *kept = place;
    AUTO(text_freep)
    char *path = x_printf("az://%s/%s%s%s", place.account, place.container,
                          *place.base.folder ? "/" : "", place.base.folder);
    return cloud_store_open(&azure_service, &kept->base, path, writes, ret_store, err);
}

const struct store_ops azure_store_ops = {
    .prefix = "az://",
    .place_parts = 2,
    .open = azure_open,
    CLOUD_STORE_OPS,
};
