// SPDX-License-Identifier: Apache-2.0
/* A commit object from a store: parsed, written and parsed again it must be the same. The input is
 * taken unchanged and, as chance never finds a checksum, with a correct trailer. */
#include "agent/score/log/commit_format.h"
#include "lib/digest.h"
#include "lib/tree.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The types of the records so far, in their order. */
static int note_type(void *context, const struct commit_head *head UNUSED,
                     const struct commit_record *record, struct error *err UNUSED) {
    uint64_t *sum = context;
    *sum = *sum * 31 + (uint64_t)record->type + 1;
    return 0;
}

/* A look, which passes tries on in brief, sees the same records. */
static void look(const struct commit_object *object) {
    uint64_t whole = 0, brief = 0;
    struct error err = {0};
    if (commit_read_records(object, /* is_brief= */ false, note_type, &whole, &err) < 0 ||
        commit_read_records(object, /* is_brief= */ true, note_type, &brief, &err) < 0 ||
        whole != brief) {
        abort();
    }
}

static int add(void *context, const struct commit_head *head, const struct commit_record *record,
               struct error *err) {
    if (record->epoch != head->epoch || commit_writer_add(context, record, err) != 1) {
        abort(); /* a parsed commit can be written */
    }
    return 0;
}

/* The text of the parsed commit; NULL: refused, with a reason. The caller frees. */
static char *again(const char *text, size_t size, size_t *ret_size) {
    struct error err = {0};
    struct commit_object object = {.text = {.data = (char *)text, .size = size}};
    AUTO(commit_writer_release) struct commit_writer writer;
    commit_writer_init(&writer);
    if (commit_read_head(text, size, &object.head, &object.tree, &err) < 0 ||
        commit_read_records(&object, /* is_brief= */ false, add, &writer, &err) < 0) {
        if (!err.text[0]) {
            abort();
        }
        json_decref(object.tree);
        return NULL;
    }
    look(&object);
    char *again_text = commit_writer_text(&writer, &object.head, ret_size);
    json_decref(object.tree);
    return again_text;
}

static void check(const char *text, size_t size) {
    size_t first_size = 0, second_size = 0;
    if (!commit_is_whole(text, size)) {
        return;
    }
    AUTO(text_freep) char *first = again(text, size, &first_size);
    if (!first) {
        return;
    }
    if (!commit_is_whole(first, first_size)) {
        abort();
    }
    AUTO(text_freep) char *second = again(first, first_size, &second_size);
    if (!second || second_size != first_size || memcmp(first, second, first_size) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, COMMIT_BYTES_MAX);
    if (buffer_append(&text, data, size, &err) < 0) {
        return 0;
    }
    check(text.data, size);
    int64_t lines = -1;
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n';
    }
    if (buffer_printf(&text, &err, "{\"end\":%lld,\"crc\":\"%08x\"}\n", (long long)lines,
                      digest_crc32c(0, data, size)) == 0) {
        check(text.data, text.size);
    }
    return 0;
}
