/* code_files.h: SHA-256 of the code of a user's program, as far as it is in volumes, so that
 * workers with other code are refused by name, as with models. WINDLASS_SPEC names the places in
 * `code` (operator/kinds/batchscore/code.h); what is in the image is known by the image's digest.
 *
 * A file that the command names always counts. Of its folder (unless inputs, outputs or logs are
 * there), and the folders below or behind links that stay in the volume, so do files with an
 * extension of source code; not __pycache__ and hidden names, and not data, models and settings,
 * which a program may write there itself. A folder with more than CODE_FILES_MAX of them,
 * CODE_BYTES_MAX in all, or CODE_NAMES_MAX names of any kind does not count, and the log says so.
 *
 * Of a worker's own model server, `code.models` names files and folders. Files with an extension of
 * weights, settings and vocabularies count, of any size; not others, as a log that it writes. */
#pragma once

#include "agent/score/log/run_file.h"

enum {
    CODE_FILES_MAX = 500,
    CODE_NAMES_MAX = 20000,
    CODE_LISTED_BYTES = 64 << 10, /* of their names; of more only one digest is listed */
};
#define CODE_BYTES_MAX ((int64_t)256 << 20)

/* Adds "scorer.command: code/lib/util.py" (of a server RUN_FILE_SERVER) -> SHA-256 for each file,
 * or "scorer.command: code (all)" for all of them together. Of a larger file than CODE_BYTES_MAX:
 * "scorer.command: code/net.pt (ends)", the SHA-256 of its size, its first and its last 32 MiB.
 * So of a server's files of more than 64 MiB, if all of them have more than CODE_BYTES_MAX.
 * ret_seen: a digest of the files' names and change tokens; equal ones need not be read again.
 * Nothing is added without `code`. Blocks; errors are the storage's. Places and files that do not
 * exist are left out. */
NODISCARD int code_files_add(const json_t *spec, json_t *files, char ret_seen[static 65],
                             struct error *err);
/* The same digest of names and tokens, without reading the files. */
NODISCARD int code_files_look(const json_t *spec, char ret_seen[static 65], struct error *err);
/* The files themselves, [[path, size, change token]]; the caller owns the list. */
NODISCARD int code_files_list(const json_t *spec, json_t **ret_list, struct error *err);
/* Whether all of `before` are in `now` as they were. What was added does not count. */
bool code_files_are_kept(const json_t *before, const json_t *now);
