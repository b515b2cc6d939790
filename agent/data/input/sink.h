/* sink.h: where the results of a mini-batch go, by spec.output.mode: PerFile is the input kind's
 * own (media.h), the other forms are the same for every input. */
#pragma once

#include "agent/data/input/media.h"

enum sink_form {
    SINK_PARTS,  /* PerFile of a video: parts that the coordinator joins */
    SINK_PACKS,  /* PerFile of files: packs (pack.h), published file by file once committed */
    SINK_ROWS,   /* AppendRow: a line a result; the coordinator puts them in the input's order */
    SINK_NOTHING /* SummaryOnly: results are counted and forgotten */
};

/* A spec without a mode is PerFile. */
enum sink_form sink_form(const json_t *spec, const struct media *media);

struct sink;

/* work: of the lease. The staged output gets the bytes, must live longer and stays open. */
NODISCARD int sink_open(const json_t *spec, const struct media *media, const json_t *work,
                        struct staged_output *staged, struct sink **ret_sink, struct error *err);
/* In the order of the lease's items, but for those that have failed. A row is the text of a JSON
 * string where it has no control characters, else compact JSON. */
NODISCARD int sink_add(struct sink *sink, const struct result *result, struct error *err);
NODISCARD int sink_finish(struct sink *sink, struct error *err);
void sink_free(struct sink *sink);
