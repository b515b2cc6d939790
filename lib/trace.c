// SPDX-License-Identifier: Apache-2.0
#include "lib/trace.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HEAD "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
#define TAIL "\n]}\n"

enum { ARGUMENTS_BYTES = 512 };

/* Makes a name valid between quotes in JSON. */
static void clean(char to[TRACE_NAME_MAX], const char *from) {
    size_t n = 0;
    for (; from[n] && n + 1 < TRACE_NAME_MAX; n++) {
        bool is_plain = from[n] >= ' ' && from[n] <= '~' && from[n] != '"' && from[n] != '\\';
        to[n] = is_plain ? from[n] : '?';
    }
    to[n] = 0;
}

/* Nanoseconds as microseconds with three decimals. */
static void format_us(char text[static 32], int64_t ns) {
    snprintf(text, 32, "%lld.%03lld", (long long)(ns / 1000), (long long)(ns % 1000));
}

/* Appends an event's line with "pid". */
static void add(struct trace *trace, const char *format, ...) PRINTF_LIKE(2, 3);
static void add(struct trace *trace, const char *format, ...) {
    char fields[3 * TRACE_NAME_MAX + ARGUMENTS_BYTES];
    struct error untold = {0};
    va_list list;
    va_start(list, format);
    int size = vsnprintf(fields, sizeof fields, format, list);
    va_end(list);
    assert(size > 0 && (size_t)size < sizeof fields);
    const char *between = trace->events.size == strlen(HEAD) ? "" : ",\n";
    trace->is_full = trace->is_full || buffer_printf(&trace->events, &untold, "%s{\"pid\":%d,%s}",
                                                     between, trace->process, fields) < 0;
}

void trace_init(struct trace *trace, int process, int64_t zero_ns, size_t bytes_max) {
    assert(bytes_max >= 1024);
    *trace = (struct trace){.process = process, .zero_ns = zero_ns};
    struct error err = {0};
    buffer_init(&trace->events, bytes_max - strlen(TAIL));
    trace->is_full = buffer_append(&trace->events, HEAD, strlen(HEAD), &err) < 0;
}

void trace_release(struct trace *trace) {
    buffer_release(&trace->events);
}

void trace_name_process(struct trace *trace, const char *name) {
    char plain[TRACE_NAME_MAX];
    clean(plain, name);
    add(trace, "\"ph\":\"M\",\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"%s\"}",
        plain);
    add(trace,
        "\"ph\":\"M\",\"tid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%d}",
        trace->process);
}

void trace_name_lane(struct trace *trace, int lane, const char *name) {
    char plain[TRACE_NAME_MAX];
    clean(plain, name);
    add(trace, "\"ph\":\"M\",\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}", lane,
        plain);
}

/* Writes ,"args":{...} or nothing; arguments that do not fit are dropped. */
static void format_arguments(char text[static ARGUMENTS_BYTES],
                             const struct trace_argument *arguments, size_t count) {
    static const char begin[] = ",\"args\":{";
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < count; i++) {
        char one[TRACE_NAME_MAX + 64];
        int size = snprintf(one, sizeof one, "%s\"%.*s\":%.9g", used ? "," : begin, TRACE_NAME_MAX,
                            arguments[i].name, arguments[i].value);
        if (isfinite(arguments[i].value) && used + (size_t)size + 2 < ARGUMENTS_BYTES) {
            memcpy(text + used, one, (size_t)size + 1);
            used += (size_t)size;
        }
    }
    if (used) {
        memcpy(text + used, "}", 2);
    }
}

void trace_add(struct trace *trace, const struct trace_span *span) {
    char began[32], took[32], plain[TRACE_NAME_MAX], arguments[ARGUMENTS_BYTES];
    format_us(began, MAX(span->began_ns - trace->zero_ns, 0));
    format_us(took, MAX(span->ended_ns - span->began_ns, 0));
    clean(plain, span->name);
    format_arguments(arguments, span->arguments, span->argument_count);
    add(trace, "\"ph\":\"X\",\"tid\":%d,\"ts\":%s,\"dur\":%s,\"name\":\"%s\"%s", span->lane, began,
        took, plain, arguments);
}

void trace_count(struct trace *trace, int64_t at_ns, struct trace_argument value) {
    char at[32], arguments[ARGUMENTS_BYTES];
    format_us(at, MAX(at_ns - trace->zero_ns, 0));
    format_arguments(arguments, &value, 1);
    if (arguments[0]) {
        add(trace, "\"ph\":\"C\",\"ts\":%s,\"name\":\"%.*s\"%s", at, TRACE_NAME_MAX, value.name,
            arguments);
    }
}

size_t trace_size(const struct trace *trace) {
    return trace->events.size;
}

void trace_cut(struct trace *trace, size_t size) {
    assert(size <= trace->events.size);
    trace->events.size = size;
}

int trace_write(const struct trace *trace, size_t size, struct buffer *file, struct error *err) {
    assert(size <= trace->events.size);
    return buffer_append(file, trace->events.data, size, err) < 0 ||
                   buffer_append(file, TAIL, strlen(TAIL), err) < 0
               ? -1
               : 0;
}
