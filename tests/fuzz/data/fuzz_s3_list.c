// SPDX-License-Identifier: Apache-2.0
/* A list of objects from a service or a proxy. What the parser reports is written as a list again
 * and parsed again: the result must be the same. */
#include "agent/store/s3/s3_store.h"
#include "lib/buffer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int escape(struct buffer *xml, const char *text, bool is_url, struct error *err) {
    int result = 0;
    for (; *text && result == 0; text++) {
        result = is_url ? buffer_printf(xml, err, "%%%02X", (unsigned char)*text)
                 : strchr("<>&\"'", *text) || *text == '\r'
                     ? buffer_printf(xml, err, "&#%d;", *text)
                     : buffer_append(xml, text, 1, err);
    }
    return result;
}

static int write_entry(void *context, const struct cloud_entry *entry, struct error *err) {
    struct buffer *xml = context;
    if (!*entry->name || entry->size_bytes < 0) {
        abort();
    }
    return buffer_printf(xml, err, "<Contents><Key>") < 0 ||
                   escape(xml, entry->name, true, err) < 0 ||
                   buffer_printf(xml, err, "</Key><Size>%lld</Size><ETag>\"",
                                 (long long)entry->size_bytes) < 0 ||
                   escape(xml, entry->token, false, err) < 0 ||
                   buffer_printf(xml, err, "\"</ETag><LastModified>") < 0 ||
                   escape(xml, entry->modified, false, err) < 0 ||
                   buffer_printf(xml, err, "</LastModified></Contents>") < 0
               ? -1
               : 0;
}

/* Returns false, with a reason, if it is not a list. */
static bool again(const char *text, size_t size, struct buffer *xml) {
    struct error err = {0};
    const char *marker = NULL;
    char *copy = malloc(size ? size : 1); /* exact, to find reads past the end */
    memcpy(copy, text, size);
    buffer_init(xml, 64 << 20);
    bool is_list =
        buffer_printf(xml, &err, "<ListBucketResult><EncodingType>url</EncodingType>") == 0 &&
        s3_list_read(copy, size, write_entry, xml, &marker, &err) == 0 &&
        buffer_printf(xml, &err, "<IsTruncated>%s</IsTruncated><NextContinuationToken>",
                      *marker ? "true" : "false") == 0 &&
        escape(xml, marker, false, &err) == 0 &&
        buffer_printf(xml, &err, "</NextContinuationToken></ListBucketResult>") == 0;
    if (!is_list && !err.text[0]) {
        abort();
    }
    free(copy);
    return is_list;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buffer first, second;
    if (again((const char *)data, size, &first)) {
        if (!again(first.data, first.size, &second) || first.size != second.size ||
            memcmp(first.data, second.data, first.size) != 0) {
            abort();
        }
        buffer_release(&second);
    }
    buffer_release(&first);
    return 0;
}
