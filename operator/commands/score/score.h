/* score.h: `windlass score`: a network over photos, a film, a table, texts or arrays, without a
 * manifest. */
#pragma once

int score_without_manifest(int argc, char **argv);
