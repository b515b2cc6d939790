// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/rank/metric_scan.h"

#include "agent/launch/rank/metric_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MAX = 40, ESCAPE = 0x1b };

/* Copies the line without a terminal's escape sequences. */
static void copy_plain(const char *line, char plain[static METRIC_LINE_MAX + 1]) {
    size_t used = 0;
    for (; *line && used < METRIC_LINE_MAX; line++) {
        if (*line != ESCAPE) {
            plain[used++] = *line;
            continue;
        }
        line += line[1] == '[' ? 1 + strspn(line + 2, "0123456789;?") : 0;
        if (!*++line) {
            break;
        }
    }
    plain[used] = 0;
}

static bool is_name_start(char byte) {
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_';
}

static bool is_name_byte(char byte) {
    return is_name_start(byte) || (byte >= '0' && byte <= '9') || (byte && strchr(".@=/-", byte));
}

/* What may be before a name. A colon is what loggers put there. */
static bool is_before(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || (byte && strchr(",;:([{|\"'>", byte));
}

static const char *skip_spaces(const char *at) {
    return at + strspn(at, " \t");
}

/* Reads a value that ends where one may end; returns its end, NULL: it is not one. */
static const char *read_value(const char *at, double *ret_value) {
    static const char *const words[] = {"nan", "infinity", "inf"};
    char text[NUMBER_MAX + 1];
    size_t sign = strspn(at, "+-"), length = strspn(at, "+-0123456789.eE");
    for (size_t i = 0; i < ARRAY_LEN(words) && sign <= 1; i++) {
        size_t size = strlen(words[i]);
        if (strncasecmp(at + sign, words[i], size) == 0) {
            length = sign + size;
            break;
        }
    }
    char after = at[length], beyond = after ? at[length + 1] : 0;
    bool ends = !after || strchr(" \t\r;)]}|", after) ||
                (after == ',' && !(beyond >= '0' && beyond <= '9'));
    if (length == 0 || length > NUMBER_MAX || !ends) {
        return NULL;
    }
    memcpy(text, at, length);
    text[length] = 0;
    char *end;
    *ret_value = strtod(text, &end);
    return *end ? NULL : at + length;
}

/* The end of a value after a name's end: [quote] [spaces] = or : [spaces] VALUE. */
static const char *read_rest(const char *at, char quote, double *ret_value) {
    at += quote && *at == quote ? 1 : 0;
    at = skip_spaces(at);
    return *at == '=' || *at == ':' ? read_value(skip_spaces(at + 1), ret_value) : NULL;
}

/* The metric whose name begins at `at`: of "mAP@IoU=0.50:0.25" the longest name. Returns its end;
 * NULL: there is none. */
static const char *read_one(const char *at, char quote, struct metric *ret_metric) {
    size_t length = 0;
    while (is_name_byte(at[length])) {
        length++;
    }
    size_t last = length;
    for (; length > 0; length--) {
        bool may_end = length == last || at[length] == '=';
        const char *end = may_end ? read_rest(at + length, quote, &ret_metric->value) : NULL;
        if (end && length <= METRIC_NAME_MAX) {
            memcpy(ret_metric->name, at, length);
            ret_metric->name[length] = 0;
            return end;
        }
    }
    return NULL;
}

static size_t put(struct metric *found, size_t count, const struct metric *metric) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(found[i].name, metric->name) == 0) {
            found[i] = *metric;
            return count;
        }
    }
    if (count == METRIC_SCAN_MAX) {
        return count;
    }
    found[count] = *metric;
    return count + 1;
}

size_t metric_scan(const char *line, struct metric ret_found[static METRIC_SCAN_MAX]) {
    char plain[METRIC_LINE_MAX + 1];
    size_t count = 0;
    if (metric_line_read_json(line, strlen(line), &ret_found[0])) {
        return 1;
    }
    copy_plain(line, plain);
    for (const char *at = plain; *at;) {
        struct metric metric = {.step = -1};
        bool begins = is_name_start(*at) && (at == plain || is_before(at[-1]));
        char quote = at > plain && (at[-1] == '"' || at[-1] == '\'') ? at[-1] : 0;
        const char *end = begins ? read_one(at, quote, &metric) : NULL;
        if (end && metric_is_name(metric.name)) {
            count = put(ret_found, count, &metric);
        }
        /* What is not a name cannot have one inside: what is before a name is not in names. */
        at += end ? end - at : 1;
    }
    return count;
}
