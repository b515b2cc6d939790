// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/rows_numbers.h"

#include "lib/text/jsontext.h"

#include <string.h>

enum { DIGITS_MAX = 15 };

int64_t rows_numbers_of(const char *name, size_t size) {
    int64_t number = 0;
    const char *slash = memrchr(name, '/', size);
    size_t at = slash ? (size_t)(slash - name) + 1 : 0, first = at;
    for (; at < size && name[at] >= '0' && name[at] <= '9' && at - first < DIGITS_MAX; at++) {
        number = 10 * number + (name[at] - '0');
    }
    return at > first && (at == size || name[at] == '.') ? number : -1;
}

void rows_numbers_see(struct rows_numbers *numbers, const char *row, size_t size) {
    struct jsontext_member member;
    const char *at = row;
    int64_t number = -1;
    if (!numbers->are_others && jsontext_next_member(&at, row + size, &member) &&
        jsontext_is_named(&member, "\"file\"") && member.value_size > 2) {
        number = rows_numbers_of(member.value + 1, member.value_size - 2);
    }
    numbers->are_others =
        numbers->are_others || number < 0 || (numbers->rows > 0 && number <= numbers->last);
    numbers->last = number;
    numbers->rows++;
}

bool rows_numbers_are(const struct rows_numbers *numbers) {
    return numbers->rows > 0 && !numbers->are_others;
}
