// SPDX-License-Identifier: Apache-2.0
/* A message of a WebSocket peer: parsed, written and parsed again it must be the same. */
#include "agent/score/wire/message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same_result(const struct message_result *a, const struct message_result *b) {
    return a->lease == b->lease && a->is_fault == b->is_fault && a->fault == b->fault &&
           a->items == b->items && a->failed == b->failed && a->took_us == b->took_us &&
           a->place == b->place && a->size_bytes == b->size_bytes && a->crc == b->crc &&
           a->text_size == b->text_size &&
           (!a->text_size || memcmp(a->text, b->text, a->text_size) == 0) &&
           !a->failures == !b->failures && a->failures_bytes == b->failures_bytes &&
           a->failures_crc == b->failures_crc;
}

static bool is_same(const struct message *a, const struct message *b, size_t i) {
    if (a->results) {
        return is_same_result(&a->results[i], &b->results[i]);
    }
    if (a->numbers) {
        return a->numbers[i] == b->numbers[i];
    }
    const struct message_lease *one = &a->leases[i], *two = &b->leases[i];
    return one->lease == two->lease && one->slot == two->slot && one->first == two->first &&
           one->cells == two->cells && one->try == two->try &&
           json_array_size(one->work) == json_array_size(two->work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct message message, again;
    if (message_parse((const char *)data, size, &message, &err) < 0) {
        if (!err.text[0]) {
            abort(); /* a refusal without a reason */
        }
        return 0;
    }
    char *text = message_format(&message);
    if (message_parse(text, strlen(text), &again, &err) < 0) {
        abort();
    }
    if (again.type != message.type || again.lease != message.lease ||
        again.epoch != message.epoch || again.count != message.count ||
        again.slots != message.slots || strcmp(again.name, message.name) != 0) {
        abort();
    }
    for (size_t i = 0; i < message.count; i++) {
        if (!is_same(&message, &again, i)) {
            abort();
        }
    }
    free(text);
    message_release(&again);
    message_release(&message);
    return 0;
}
