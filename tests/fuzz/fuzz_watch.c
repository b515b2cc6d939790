// SPDX-License-Identifier: Apache-2.0
/* A watch's and a list's bytes, in pieces whose sizes the first byte chooses. */
#include "operator/kube/stream.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *context, const char *text, size_t size, struct error *err) {
    (void)context;
    struct stream_event event = {0};
    struct error ignored = {0};
    AUTO(tree_freep) json_t *object = NULL;
    (void)stream_event_identity(text, size);
    if (size == 0 || (stream_event_parse(text, size, &event, &ignored) == 0 && !event.object)) {
        abort();
    }
    json_decref(event.object);
    return stream_object_parse(text, size, &object, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0}, item_err = {0};
    struct stream_lines lines;
    struct stream_items items;
    AUTO(tree_freep) json_t *envelope = NULL;
    size_t step = size ? 1 + data[0] : 1;
    stream_lines_init(&lines, 4096);
    stream_items_init(&items, 4096);
    for (size_t at = 0; at < size; at += step) {
        const char *piece = (const char *)data + at;
        (void)!(!err.kind && stream_lines_feed(&lines, piece, MIN(step, size - at), take, 0, &err));
        (void)!(!item_err.kind &&
                stream_items_feed(&items, piece, MIN(step, size - at), take, 0, &item_err));
    }
    (void)!(!item_err.kind && stream_items_end(&items, &envelope, &item_err));
    stream_lines_release(&lines);
    stream_items_release(&items);
    return 0;
}
