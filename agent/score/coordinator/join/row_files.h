/* row_files.h: the rows of mode AppendRow as the files of spec.output.format: Parquet, CSV, Npy,
 * and JSON Lines whose rows have numbers (row_places.h). The rows of workers are JSON (row_line.h).
 * They are read twice: once for the types of the columns (row_columns.h), and once to write; for
 * JSON Lines once. Memory: a row group, and the longest row. */
#pragma once

#include "agent/score/coordinator/join/committed.h"
#include "agent/score/coordinator/kept.h"

/* True: the rows are converted to spec.output.format. False: they are written unchanged. */
bool row_files_are_made(const json_t *spec);
/* Whether the rows are kept beside the files, as an object of the run, so that a rerun can merge
 * those of items that are unchanged with new ones: of inputs whose results can be kept. */
bool row_files_keep_rows(const struct prepared_job *prepared, const json_t *spec);
/* That object's name; owned by the caller. */
char *row_files_kept_name(const struct generation *generation);

/* Calls `take` for every row, in the order of the input; -1 as committed_bytes. */
struct row_files_source {
    int (*each)(void *context, const struct committed_take *take, struct error *err);
    void *context;
};
/* Writes the files, replacing earlier ones. Appends their entries (result_file_entry) to `files`,
 * and their spec paths to `outputs`; both may be NULL. INVALID names a row and its column: its
 * value does not fit the form. */
NODISCARD int row_files_make(struct prepared_job *prepared, const struct job *job,
                             const struct row_files_source *source, json_t *files, json_t *outputs,
                             struct error *err);
/* From the committed results, and from the kept rows. */
NODISCARD int row_files_of_commits(struct prepared_job *prepared, const struct job *job,
                                   json_t *files, json_t *outputs, struct error *err);
NODISCARD int row_files_of_kept(struct prepared_job *prepared, const struct job *job, json_t *files,
                                json_t *outputs, struct error *err);
