/* sink.h: where the results of a mini-batch go, by spec.output.mode. Each input kind defines
 * PerFile (media.h); the other forms are the same for every input. */
#pragma once

#include "agent/data/input/media.h"

enum sink_form {
    SINK_PARTS,  /* PerFile of a video: parts that the coordinator joins */
    SINK_PACKS,  /* PerFile of files: packs (pack.h), published file by file once committed */
    SINK_ROWS,   /* AppendRow: one line per result; the coordinator puts them in the input's
                    order */
    SINK_NOTHING /* SummaryOnly: results are counted and forgotten */
};

enum sink_form sink_form(const json_t *spec, const struct media *media);

struct sink;

/* work: the lease's. The staged output receives the bytes; it must outlive the sink and stays
 * open. */
NODISCARD int sink_open(const json_t *spec, const struct media *media, const json_t *work,
                        struct staged_output *staged, struct sink **ret_sink, struct error *err);
/* Results come in the order of the lease's items, without the failed ones. A row is the text of a
 * JSON string if it has no control characters, otherwise compact JSON. */
NODISCARD int sink_add(struct sink *sink, const struct result *result, struct error *err);
/* One of the lease's items has failed; at any time before sink_finish. */
void sink_skip(struct sink *sink);
NODISCARD int sink_finish(struct sink *sink, struct error *err);
void sink_free(struct sink *sink);
