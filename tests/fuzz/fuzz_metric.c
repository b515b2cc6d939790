// SPDX-License-Identifier: Apache-2.0
/* Messages of a program to the agent's socket, and of agents to the hub's: a metric is a metric
 * again when written, and fits into a status. */
#include "agent/launch/gang/latest_metrics.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO(text_freep) char *text = x_strndup((const char *)data, size);
    AUTO(tree_freep) json_t *progress = json_object();
    struct latest_metrics latest = {0};
    struct metric metric, again;
    char written[METRIC_TEXT_MAX];
    if (metric_read(text, &metric)) {
        metric_write(&metric, written);
        if (!metric_read(written, &again) || again.rank != metric.rank ||
            again.step != metric.step || strcmp(again.name, metric.name) != 0) {
            abort();
        }
    }
    latest_metrics_read(&latest, text);
    latest_metrics_add_json(&latest, progress);
    AUTO(text_freep) char *said = tree_canonical(progress);
    if (!said || strlen(said) > 512) {
        abort();
    }
    return 0;
}
