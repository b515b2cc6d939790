// SPDX-License-Identifier: Apache-2.0
/* The cost of a lease and a result on the wire: formatting and parsing, in messages of 1, 16 and
 * 256. */
#include "agent/score/wire/message.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1 << 18 };

static char *make(enum message_type type, int count) {
    struct message_batch batch;
    message_batch_init(&batch, type, 16);
    for (int i = 0; i < count; i++) {
        if (type == MESSAGE_LEASES) {
            struct message_lease lease = {
                .lease = 1000 + i, .slot = i & 1, .first = 5000 + i, .cells = 1, .try = 1};
            message_batch_lease(&batch, &lease, "[\"2019/a.jpg\",\"2019/b.jpg\"]");
        } else {
            struct message_result result = {.lease = 1000 + i,
                                            .items = 2,
                                            .took_us = 3,
                                            .place = MESSAGE_OBJECT,
                                            .size_bytes = 15320,
                                            .crc = 0x1c291ca3};
            message_batch_result(&batch, &result);
        }
    }
    return message_batch_take(&batch);
}

static void measure(enum message_type type, const char *name, int count) {
    int rounds = ROWS / count;
    int64_t start = clock_monotonic_ns();
    for (int i = 0; i < rounds; i++) {
        free(make(type, count));
    }
    int64_t made = clock_monotonic_ns();
    AUTO(text_freep) char *text = make(type, count);
    for (int i = 0; i < rounds; i++) {
        struct error err = {0};
        struct message message;
        if (message_parse(text, strlen(text), &message, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        message_release(&message);
    }
    int64_t read = clock_monotonic_ns();
    printf("%-8s %10d %12.2f %12.2f\n", name, count, (double)(made - start) / ROWS / 1000,
           (double)(read - made) / ROWS / 1000);
}

int main(void) {
    printf("%-8s %10s %12s %12s\n", "row", "a message", "format, us", "parse, us");
    for (int count = 1; count <= 256; count *= 16) {
        measure(MESSAGE_LEASES, "lease", count);
        measure(MESSAGE_RESULTS, "result", count);
    }
    return 0;
}
