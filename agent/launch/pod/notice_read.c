// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/notice_read.h"

#include "lib/tree.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { EVENTS_MAX = 1000 };

int64_t notice_time(const char *text) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int day, year, hour, minute, second, used = 0;
    char month[4] = "";
    if (sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &day, month, &year, &hour,
               &minute, &second, &used) != 6 ||
        used == 0 || text[used] || strlen(month) != 3) {
        return -1;
    }
    const char *found = strstr(months, month);
    bool is_good = found && (found - months) % 3 == 0 && day >= 1 && day <= 31 && year >= 1970 &&
                   hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 &&
                   second <= 60;
    if (!is_good) {
        return -1;
    }
    struct tm parts = {.tm_year = year - 1900,
                       .tm_mon = (int)(found - months) / 3,
                       .tm_mday = day,
                       .tm_hour = hour,
                       .tm_min = minute,
                       .tm_sec = second};
    return (int64_t)timegm(&parts) * 1000;
}

static bool takes_away(const char *type) {
    static const char *const types[] = {"Preempt", "Terminate", "Reboot", "Redeploy"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (strcmp(type, types[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool names_machine(const json_t *event, const char *machine) {
    const json_t *resources = json_object_get(event, "Resources");
    size_t i;
    json_t *name;
    json_array_foreach(resources, i, name) {
        if (json_is_string(name) && strcasecmp(json_string_value(name), machine) == 0) {
            return true;
        }
    }
    return false;
}

/* 0: now. The time of an event that has started is "". */
static int64_t left_ms(const json_t *event, int64_t now_wall_ms) {
    int64_t at_ms = notice_time(tree_text(event, "NotBefore", ""));
    bool has_started = strcmp(tree_text(event, "EventStatus", ""), "Started") == 0;
    return at_ms < 0 || has_started ? 0 : MAX(0, at_ms - now_wall_ms);
}

int notice_read(const char *text, size_t size, const char *machine, int64_t now_wall_ms,
                struct notice_event *ret_event, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse(text, size, NOTICE_BYTES_MAX, &tree, err) < 0) {
        return -1;
    }
    const json_t *events = json_object_get(tree, "Events");
    if (!json_is_array(events) || json_array_size(events) > EVENTS_MAX) {
        return error_set(err, ERROR_INVALID, "not a list of events");
    }
    const json_t *first = NULL, *event;
    int64_t first_ms = INT64_MAX;
    for (size_t i = 0; i < json_array_size(events); i++) {
        event = json_array_get(events, i);
        const char *type = tree_text(event, "EventType", "");
        int64_t left = left_ms(event, now_wall_ms);
        bool is_soon = left <= NOTICE_AHEAD_MS || strcmp(type, "Preempt") == 0;
        if (takes_away(type) && is_soon && left < first_ms && names_machine(event, machine)) {
            first = event;
            first_ms = left;
        }
    }
    if (!first) {
        return 0;
    }
    *ret_event = (struct notice_event){.left_ms = first_ms};
    snprintf(ret_event->type, sizeof ret_event->type, "%s", tree_text(first, "EventType", ""));
    snprintf(ret_event->id, sizeof ret_event->id, "%s", tree_text(first, "EventId", ""));
    return 1;
}
