// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/notice_cloud.h"

#include "lib/time/clock.h"
#include "lib/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static int check_status(const struct notice_answer *answer, struct error *err) {
    return answer->status == 200
               ? 0
               : error_set(err, ERROR_UNAVAILABLE, "answered with status %d", answer->status);
}

static int read_azure(const struct notice_answer *answer, const char *key, int64_t now_wall_ms,
                      struct notice_event *ret_event, struct error *err) {
    return check_status(answer, err) < 0
               ? -1
               : notice_read(answer->body, answer->size, key, now_wall_ms, ret_event, err);
}

/* {"action": "terminate", "time": "2017-09-18T08:22:00Z"}; 404 while there is no notice. */
static int read_amazon(const struct notice_answer *answer, const char *key UNUSED,
                       int64_t now_wall_ms, struct notice_event *ret_event, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (answer->status == 404) {
        return 0;
    }
    if (check_status(answer, err) < 0 ||
        tree_parse(answer->body, answer->size, NOTICE_BYTES_MAX, &tree, err) < 0) {
        return -1;
    }
    const char *action = tree_text(tree, "action", "");
    int64_t at_ms = clock_parse(tree_text(tree, "time", ""));
    if (!*action) {
        return error_set(err, ERROR_INVALID, "not the action on an instance");
    }
    *ret_event = (struct notice_event){.left_ms = at_ms < 0 ? 0 : MAX(0, at_ms - now_wall_ms)};
    snprintf(ret_event->type, sizeof ret_event->type, "%s", action);
    snprintf(ret_event->id, sizeof ret_event->id, "spot");
    return 1;
}

static int read_google(const struct notice_answer *answer, const char *key UNUSED,
                       int64_t now_wall_ms UNUSED, struct notice_event *ret_event,
                       struct error *err) {
    if (check_status(answer, err) < 0) {
        return -1;
    }
    if (answer->size >= 5 && memcmp(answer->body, "FALSE", 5) == 0) {
        return 0;
    }
    if (answer->size < 4 || memcmp(answer->body, "TRUE", 4) != 0) {
        return error_set(err, ERROR_INVALID, "neither TRUE nor FALSE");
    }
    *ret_event =
        (struct notice_event){.type = "Preempt", .id = "preempted", .left_ms = NOTICE_GOOGLE_MS};
    return 1;
}

const struct notice_cloud notice_clouds[NOTICE_CLOUDS] = {
    {.name = "Azure",
     .first = {.path = "/metadata/instance/compute/name?api-version=2021-02-01&format=text",
               .header = "Metadata: true"},
     .events = {.header = "Metadata: true"},
     .read = read_azure},
    {.name = "Amazon",
     .first = {.method = "PUT",
               .path = "/latest/api/token",
               .header = "X-aws-ec2-metadata-token-ttl-seconds: 21600"},
     .events = {.path = "/latest/meta-data/spot/instance-action",
                .header = "X-aws-ec2-metadata-token: "},
     .sends_key = true,
     .key_is_over = 401,
     .read = read_amazon},
    {.name = "Google",
     .events = {.path = "/computeMetadata/v1/instance/preempted",
                .header = "Metadata-Flavor: Google"},
     .read = read_google},
};

bool notice_is_elsewhere(int status) {
    return status >= 400 && status < 500 && status != 429;
}

int notice_read_key(const struct notice_answer *answer, char ret_key[NOTICE_KEY_MAX + 1],
                    struct error *err) {
    size_t size = answer->size;
    if (check_status(answer, err) < 0) {
        return -1;
    }
    while (size > 0 && isspace((unsigned char)answer->body[size - 1])) {
        size--;
    }
    bool is_key = size > 0 && size <= NOTICE_KEY_MAX;
    for (size_t i = 0; is_key && i < size; i++) {
        char byte = answer->body[i];
        is_key = isalnum((unsigned char)byte) || (byte && strchr("-_.+/=", byte));
    }
    if (!is_key) {
        return error_set(err, ERROR_INVALID, "not the name of a machine, or a token (%zu bytes)",
                         answer->size);
    }
    memcpy(ret_key, answer->body, size);
    ret_key[size] = 0;
    return 0;
}
