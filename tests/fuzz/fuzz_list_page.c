// SPDX-License-Identifier: Apache-2.0
/* A page of the list of inputs from a store: parsed, written and parsed again it must be the same.
 * The input is taken unchanged and, as chance never finds a checksum, with a correct one. */
#include "agent/data/input/list_page.h"
#include "lib/digest.h"

#include <stdlib.h>
#include <string.h>

#define RUN "5f0c5f0c5f0c5f0c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* text: moved. Returns 0 if it is refused, with a reason. */
static bool read_page(char *text, size_t size, struct list_page *ret_page) {
    struct error err = {0};
    if (list_page_read(RUN, 3, text, size, ret_page, &err) == 0) {
        return true;
    }
    if (!err.text[0]) {
        abort();
    }
    return false;
}

static void check(char *text, size_t size) {
    struct error err = {0};
    AUTO(list_page_release) struct list_page first = {0};
    AUTO(list_page_release) struct list_page second = {0};
    if (!read_page(text, size, &first)) {
        return;
    }
    struct list_writer writer;
    list_writer_init(&writer);
    for (size_t i = 0; i < first.line_count; i++) {
        const struct list_line *line = &first.lines[i];
        size_t length =
            line->print ? line->print + line->print_size - line->start : line->json_size;
        if (list_writer_add(&writer, first.text + line->start, length, line->flag,
                            i + 1 == first.line_count ? first.cursor : NULL, &err) != 1) {
            abort(); /* a parsed page can be written */
        }
    }
    char *again = list_writer_text(&writer, RUN, 3, first.first, first.is_last, &size);
    if (!read_page(again, size, &second) || second.count != first.count ||
        second.line_count != first.line_count || second.first != first.first ||
        second.is_last != first.is_last ||
        (first.line_count && (!first.cursor != !second.cursor ||
                              (first.cursor && strcmp(first.cursor, second.cursor) != 0)))) {
        abort();
    }
    for (size_t i = 0; i < first.line_count; i++) {
        const struct list_line *one = &first.lines[i], *two = &second.lines[i];
        if (one->flag != two->flag || one->json_size != two->json_size ||
            one->print_size != two->print_size ||
            memcmp(first.text + one->start, second.text + two->start, one->json_size) != 0) {
            abort();
        }
    }
    list_writer_release(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = x_malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    check(text, size);
    text = x_malloc(size + 32);
    memcpy(text, data, size);
    size += (size_t)snprintf(text + size, 32, ",\"crc\":\"%08x\"}\n", digest_crc32c(0, data, size));
    check(text, size);
    return 0;
}
