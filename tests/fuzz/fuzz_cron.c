// SPDX-License-Identifier: Apache-2.0
/* A cron line, or a zone file (if the first byte is even): an accepted one fires at minutes of the
 * clock, each later than the last. */
#include "lib/time/cron.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct cron cron;
    struct zone *zone = NULL;
    if (size < 1) {
        return 0;
    }
    bool is_zone = data[0] % 2 == 0;
    AUTO(text_freep) char *text = x_strndup((const char *)data + 1, size - 1);
    if ((is_zone ? zone_parse(data + 1, size - 1, &zone, &err)
                 : zone_open("Europe/Berlin", &zone, &err)) < 0 ||
        cron_parse(is_zone ? "30 2 * * *" : text, &cron, &err) < 0) {
        zone_free(zone);
        return 0;
    }
    int64_t at_s = 1774000000;
    for (int i = 0; i < 4 && at_s >= 0; i++) {
        struct zone_span span = zone_find_span(zone, at_s);
        if (at_s < span.since_s || at_s >= span.until_s) {
            abort();
        }
        int64_t next_s = cron_next(&cron, zone, at_s);
        if (next_s >= 0 && next_s <= at_s) {
            abort();
        }
        at_s = next_s;
    }
    zone_free(zone);
    return 0;
}
