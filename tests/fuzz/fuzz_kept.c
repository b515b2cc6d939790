// SPDX-License-Identifier: Apache-2.0
/* What a rerun reads from a store about earlier results: which items have one (HOME/done-N),
 * and the record that begins a generation. The input is taken unchanged and, as chance never finds
 * a checksum, as the bits of a list with a correct one. */
#include "agent/data/input/kept_bits.h"
#include "agent/score/coordinator/kept.h"
#include "agent/score/log/generation.h"
#include "lib/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool parse(const char *text, size_t size, struct kept_bits *ret_bits) {
    struct error err = {0};
    if (kept_parse_bits(text, size, ret_bits, &err) == 0) {
        return true;
    }
    if (!err.text[0]) {
        abort(); /* refused without a reason */
    }
    return false;
}

static void check_bits(const uint8_t *data, size_t size) {
    AUTO(kept_bits_release) struct kept_bits any = {0};
    AUTO(kept_bits_release) struct kept_bits sound = {0};
    (void)parse((const char *)data, size, &any);
    AUTO(text_freep)
    char *text = x_printf("{\"windlass\":1,\"items\":%zu,\"crc\":\"%08x\"}\n", size * 8,
                          digest_crc32c(0, data, size));
    size_t head = strlen(text);
    text = x_realloc(text, head + size + 1);
    memcpy(text + head, data, size);
    if (!parse(text, head + size, &sound) || sound.count != (int64_t)size * 8) {
        abort();
    }
    struct list_results results = kept_bits_results(&sound);
    for (int64_t i = 0; i < sound.count; i++) {
        bool wanted = data[i / 8] >> (i % 8) & 1;
        if (list_results_has(&results, i) != wanted) {
            abort();
        }
    }
}

static void check_record(const uint8_t *data, size_t size) {
    struct generation generation = {.home = "5f0c5f0c5f0c5f0c", .run = "5f0c5f0c5f0c5f0c"};
    struct commit_head head = {.number = 7, .epoch = 7, .uid = "uid", .job = "job"};
    AUTO(text_freep) char *text = x_strndup((const char *)data, size);
    struct commit_record record = {
        .type = COMMIT_BEGIN, .first = 1, .text = text, .text_size = size};
    struct error err = {0};
    if (generation_see(&generation, &head, &record, &err) < 0) {
        if (!err.text[0]) {
            abort();
        }
        return;
    }
    if (generation.number != 1 || generation.keeps > 0 || strlen(generation.run) != 16) {
        abort(); /* keeps what never was, or is of no run */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_bits(data, size);
    check_record(data, size);
    return 0;
}
