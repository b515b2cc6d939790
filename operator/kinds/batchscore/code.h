/* code.h: where the code of a user's program is, as far as the words of scorer.command.command and
 * the texts of its arguments and environment name files of volumes: "$(code)/score.py", also inside
 * a word; and where the models of a worker's own server are, as far as the words of
 * scorer.endpoint.server.command name them. The agents of all pods see these volumes, so that
 * coordinator and workers can compare what they read. Pure. */
#pragma once

#include "lib/tree.h"

/* {"files": [VOLUME/path], "folders": [VOLUME/path], "own": [VOLUME/path], or of a server "models":
 * [VOLUME/path], a file or a folder of them} for WINDLASS_SPEC, in the order of the words; owned by
 * the caller; NULL: the words name nothing in a volume. A path of `folders` stands for that folder,
 * or the whole folder of that file; one of `files` for the file alone, since inputs, outputs or
 * logs, which change while the job runs, are beside it; one of `own`, which is also in `files`, for
 * that folder if it is one. In a volume with such data, variables stand for files alone, unless
 * their names end with PATH: they may name caches. Paths in an emptyDir, which each pod has for
 * itself, are left out. */
json_t *batchscore_code(const json_t *spec);
