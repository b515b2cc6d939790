// SPDX-License-Identifier: Apache-2.0
/* The response of ListObjectsV2. Its names are percent-encoded if it says so: encoding-type=url is
 * asked for, and some servers ignore it. */
#include "agent/store/s3/s3_store.h"

#include "agent/store/cloud/xml.h"

#include <string.h>

#define LIST "ListBucketResult"
#define ENTRY LIST "/Contents"

struct reading {
    struct cloud_entry entry;
    const char *marker;
    bool is_cut;     /* there are more pages */
    bool is_encoded; /* its names are */
    cloud_each *each;
    void *context;
};

static const struct cloud_entry no_entry = {.token = "", .modified = ""};

static int refuse(struct error *err, const char *why) {
    return error_set(err, ERROR_UNAVAILABLE, "not a list of objects: %s", why);
}

static int read_leaf(void *context, const struct xml_path *path, char *text, struct error *err) {
    struct reading *reading = context;
    if (xml_is_at(path, LIST "/IsTruncated")) {
        reading->is_cut = strcmp(text, "true") == 0;
    } else if (xml_is_at(path, LIST "/NextContinuationToken")) {
        reading->marker = text;
    } else if (xml_is_at(path, ENTRY "/Key")) {
        if (reading->is_encoded && !xml_decode_url(text)) {
            return refuse(err, "a name that cannot be decoded");
        }
        reading->entry.name = text;
    } else if (xml_is_at(path, ENTRY "/ETag")) {
        reading->entry.token = cloud_without_quotes(text);
    } else if (xml_is_at(path, ENTRY "/LastModified")) {
        reading->entry.modified = text;
    } else if (xml_is_at(path, ENTRY "/Size") && xml_size(text, &reading->entry.size_bytes) < 0) {
        return refuse(err, "a size that is not a number");
    }
    return 0;
}

static int end_entry(void *context, const struct xml_path *path, struct error *err) {
    struct reading *reading = context;
    if (!xml_is_at(path, ENTRY)) {
        return 0;
    }
    if (!reading->entry.name || !*reading->entry.name) {
        return refuse(err, "an object without a name");
    }
    int result = reading->each(reading->context, &reading->entry, err);
    reading->entry = no_entry;
    return result < 0 ? -1 : 0;
}

int s3_list_read(char *text, size_t size, cloud_each *each, void *context, const char **ret_marker,
                 struct error *err) {
    /* Some servers send it after the names, which cannot hold it: they have no "<". */
    static const char encoded[] = "<EncodingType>url</EncodingType>";
    struct reading reading = {.entry = no_entry,
                              .marker = "",
                              .is_encoded = memmem(text, size, encoded, strlen(encoded)) != NULL,
                              .each = each,
                              .context = context};
    const struct xml_visitor visitor = {.root = LIST,
                                        .refusal = "not a list of objects",
                                        .leaf = read_leaf,
                                        .end = end_entry,
                                        .context = &reading};
    if (xml_read(text, size, &visitor, err) < 0) {
        return -1;
    }
    if (reading.is_cut && !*reading.marker) {
        return refuse(err, "no token of the next page");
    }
    *ret_marker = reading.is_cut ? reading.marker : "";
    return 0;
}
