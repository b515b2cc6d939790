// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/captions.h"

#include "lib/base.h"

#include <string.h>

/* The user's identifier and the type of what follows: cc_data. */
static const char mark[] = "GA94\x03";
enum { MARK_SIZE = sizeof mark - 1, PREFIX_SIZE = 4, TRIPLET_SIZE = 3 };

/* User data of MPEG-2 begins with its start code, the others with a country (181) and a company. */
static bool is_user_data(const uint8_t *at) {
    static const uint8_t mpeg2[] = {0, 0, 1, 0xB2}, others[] = {0xB5, 0, 0x31};
    return memcmp(at - sizeof mpeg2, mpeg2, sizeof mpeg2) == 0 ||
           memcmp(at - sizeof others, others, sizeof others) == 0;
}

/* The bytes after the mark: flags with the number of triplets, a reserved byte, the triplets. A
 * triplet without valid data, or of two zeros (with or without their parity bit), is a filler. */
static bool says_something(const uint8_t *bytes, size_t size) {
    enum { PROCESS = 0x40, COUNT = 0x1F, VALID = 0x04, HEAD = 2 };
    size_t count = size > HEAD && bytes[0] & PROCESS ? bytes[0] & COUNT : 0;
    for (size_t i = 0; i < count && HEAD + (i + 1) * TRIPLET_SIZE <= size; i++) {
        const uint8_t *triplet = bytes + HEAD + i * TRIPLET_SIZE;
        if (triplet[0] & VALID && (triplet[1] & 0x7F || triplet[2] & 0x7F)) {
            return true;
        }
    }
    return false;
}

bool captions_found(const uint8_t *bytes, size_t size) {
    const uint8_t *end = bytes + size, *at = bytes;
    while ((size_t)(end - at) > MARK_SIZE &&
           (at = memmem(at, (size_t)(end - at), mark, MARK_SIZE))) {
        if (at - bytes >= PREFIX_SIZE && is_user_data(at) &&
            says_something(at + MARK_SIZE, (size_t)(end - at) - MARK_SIZE)) {
            return true;
        }
        at += MARK_SIZE;
    }
    return false;
}
