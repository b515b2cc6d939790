// SPDX-License-Identifier: Apache-2.0
/* A tar archive: refused with a reason, or all its files are within it, in their order. */
#include "agent/data/source/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *data;
    size_t size;
};

static int read_bytes(void *context, int64_t offset, void *to, size_t size,
                      struct error *err UNUSED) {
    const struct bytes *bytes = context;
    if (offset < 0 || (uint64_t)offset > bytes->size || size > bytes->size - (size_t)offset) {
        abort();
    }
    memcpy(to, bytes->data + offset, size);
    return 0;
}

/* A mutation that changes a header would end at its checksum. */
static uint8_t *with_sums(const uint8_t *data, size_t size) {
    uint8_t *copy = x_malloc(size + 1);
    memcpy(copy, data, size);
    for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
        uint8_t *block = copy + at;
        unsigned sum = 8 * ' ';
        bool is_header = memcmp(block + 257, "ustar", 5) == 0;
        for (int i = 0; i < TAR_BLOCK; i++) {
            sum += i >= 148 && i < 156 ? 0 : block[i];
        }
        if (is_header) {
            char digits[9];
            snprintf(digits, sizeof digits, "%06o", sum);
            memcpy(block + 148, digits, 7);
            block[155] = ' ';
        }
    }
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *fixed = with_sums(data, size);
    struct bytes bytes = {fixed, size};
    struct error err = {0};
    struct tar_member member;
    int64_t before = 0;
    int more;
    AUTO(tar_release)
    struct tar tar = {.size_bytes = (int64_t)size,
                      .window_max = size % 2 ? TAR_BLOCK : 16 << 10,
                      .read = read_bytes,
                      .context = &bytes};
    while ((more = tar_next(&tar, &member, &err)) > 0) {
        if (member.offset < before + TAR_BLOCK || member.size_bytes < 0 ||
            member.size_bytes > (int64_t)size - member.offset ||
            strlen(member.name) >= TAR_NAME_MAX || member.header + TAR_BLOCK != member.offset) {
            abort();
        }
        before = member.offset + member.size_bytes;
    }
    if (more < 0 && !err.text[0]) {
        abort();
    }
    free(fixed);
    return 0;
}
