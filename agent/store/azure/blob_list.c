// SPDX-License-Identifier: Apache-2.0
#include "agent/store/azure/blob_list.h"

#include "agent/store/cloud/xml.h"

#include <string.h>
#include <strings.h>

#define BLOB "EnumerationResults/Blobs/Blob"

struct reading {
    struct cloud_entry entry;
    const char *marker;
    cloud_each *each;
    void *context;
};

static const struct cloud_entry no_entry = {.token = "", .modified = ""};

/* Names of metadata are header names, which may have any case. */
static bool is_folder_mark(const struct xml_path *path, const char *text) {
    static const char name[] = "hdi_isfolder";
    const struct xml_element *element = &path->elements[path->depth - 1];
    return element->length == strlen(name) &&
           strncasecmp(element->name, name, element->length) == 0 && strcasecmp(text, "true") == 0;
}

static int read_leaf(void *context, const struct xml_path *path, char *text, struct error *err) {
    struct reading *reading = context;
    struct cloud_entry *entry = &reading->entry;
    if (xml_is_at(path, "EnumerationResults/NextMarker")) {
        reading->marker = text;
    } else if (xml_is_at(path, BLOB "/Name")) {
        entry->name = text;
    } else if (xml_is_at(path, BLOB "/Properties/Etag")) {
        entry->token = cloud_without_quotes(text);
    } else if (xml_is_at(path, BLOB "/Properties/Last-Modified")) {
        entry->modified = text;
    } else if (xml_is_at(path, BLOB "/Properties/ResourceType")) {
        entry->is_folder |= strcmp(text, "directory") == 0;
    } else if (xml_is_at(path, BLOB "/Properties/Content-Length") &&
               xml_size(text, &entry->size_bytes) < 0) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "not a list of blobs: a size that is not a number");
    } else if (xml_is_below(path, BLOB "/Metadata")) {
        entry->is_folder |= is_folder_mark(path, text);
    }
    return 0;
}

static int end_blob(void *context, const struct xml_path *path, struct error *err) {
    struct reading *reading = context;
    if (!xml_is_at(path, BLOB)) {
        return 0;
    }
    if (!reading->entry.name || !*reading->entry.name) {
        return error_set(err, ERROR_UNAVAILABLE, "not a list of blobs: a blob without a name");
    }
    int result = reading->each(reading->context, &reading->entry, err);
    reading->entry = no_entry;
    return result < 0 ? -1 : 0;
}

int blob_list_read(char *text, size_t size, cloud_each *each, void *context,
                   const char **ret_marker, struct error *err) {
    struct reading reading = {.entry = no_entry, .marker = "", .each = each, .context = context};
    const struct xml_visitor visitor = {.root = "EnumerationResults",
                                        .refusal = "not a list of blobs",
                                        .leaf = read_leaf,
                                        .end = end_blob,
                                        .context = &reading};
    if (xml_read(text, size, &visitor, err) < 0) {
        return -1;
    }
    *ret_marker = reading.marker;
    return 0;
}
