/* score.h: `windlass score`: a network over photos, a film, a table, texts or arrays, without a
 * manifest. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int score_without_manifest(int argc, char **argv);
