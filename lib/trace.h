/* trace.h: timelines in Chrome's "Trace Event Format" (JSON object form), which
 * https://ui.perfetto.dev and chrome://tracing open. Times are clock_monotonic_ns; the file has
 * microseconds with three decimals, so spans stay nested exactly. In names everything but printable
 * ASCII, and quotes and backslashes, become "?".
 *
 * Events are kept as text. When one does not fit, it and all later ones are dropped (is_full).
 * One thread at a time. */
#pragma once

#include "lib/buffer.h"

enum { TRACE_NAME_MAX = 96 }; /* longer names are cut */

struct trace {
    struct buffer events; /* the file without its end */
    int process;
    int64_t zero_ns;
    bool is_full;
};

/* zero_ns: time 0 of the file. bytes_max: the largest file, at least 1024. */
void trace_init(struct trace *trace, int process, int64_t zero_ns, size_t bytes_max);
void trace_release(struct trace *trace); /* also for AUTO */

/* Names the process (viewers sort by its number) and one of its lanes, which viewers show as a
 * thread: one row of spans. */
void trace_name_process(struct trace *trace, const char *name);
void trace_name_lane(struct trace *trace, int lane, const char *name);

struct trace_argument {
    const char *name; /* printable, without quotes */
    double value;     /* dropped unless it is finite */
};

/* Spans of one lane must not overlap unless one contains the other. */
struct trace_span {
    int lane;
    const char *name;
    int64_t began_ns, ended_ns;
    const struct trace_argument *arguments; /* shown when the span is selected */
    size_t argument_count;
};
void trace_add(struct trace *trace, const struct trace_span *span);
/* A counter: a value that changes with time, drawn as a curve. */
void trace_count(struct trace *trace, int64_t at_ns, struct trace_argument value);

/* The size so far; trace_cut drops all events added since. */
size_t trace_size(const struct trace *trace);
void trace_cut(struct trace *trace, size_t size);

/* Writes the whole file with the first `size` bytes of events (a trace_size) into an empty buffer
 * whose maximum is bytes_max. */
NODISCARD int trace_write(const struct trace *trace, size_t size, struct buffer *file,
                          struct error *err);
