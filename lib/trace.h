/* trace.h: where time goes, as trace events of Chrome's format ("Trace Event Format", JSON object
 * form), which https://ui.perfetto.dev and chrome://tracing open. Times are clock_monotonic_ns;
 * the file has microseconds with three digits, so that what lies within another does so there,
 * too. In names all but printable ASCII, quotes and backslashes becomes "?".
 *
 * Events are text from the moment they are added. One that does not fit is left out, as are all
 * behind it (is_full). One thread at a time. */
#pragma once

#include "lib/buffer.h"

enum { TRACE_NAME_MAX = 96 }; /* longer names are cut */

struct trace {
    struct buffer events; /* the file without its end */
    int process;
    int64_t zero_ns;
    bool is_full;
};

/* zero_ns: the moment that is 0 in the file. bytes_max: of the file, 1024 at least. */
void trace_init(struct trace *trace, int process, int64_t zero_ns, size_t bytes_max);
void trace_release(struct trace *trace); /* for AUTO, too */

/* What viewers call the process (they are sorted by their numbers), and one of its lanes. */
void trace_name_process(struct trace *trace, const char *name);
void trace_name_lane(struct trace *trace, int lane, const char *name);

struct trace_figure {
    const char *name; /* printable, without quotes */
    double value;     /* left out if it is not finite */
};

/* On one lane spans are either apart, or one within the other and beginning after it. */
struct trace_span {
    int lane;
    const char *name;
    int64_t began_ns, ended_ns;
    const struct trace_figure *figures; /* shown when the span is chosen */
    size_t figure_count;
};
void trace_add(struct trace *trace, const struct trace_span *span);
/* A figure that changes with time, drawn as a curve. */
void trace_count(struct trace *trace, int64_t at_ns, struct trace_figure figure);

/* How much there is, and back to that: what was added since is gone. */
size_t trace_size(const struct trace *trace);
void trace_cut(struct trace *trace, size_t size);

/* The whole file with the first `size` bytes of events (a trace_size), into an empty buffer whose
 * maximum is bytes_max. */
NODISCARD int trace_write(const struct trace *trace, size_t size, struct buffer *file,
                          struct error *err);
