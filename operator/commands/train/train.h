/* train.h: `windlass train` and `windlass sweep`: a training, or many with other values of some
 * fields, without a manifest. */
#pragma once

/* Return the exit code (docs/errors.md). */
int train_without_manifest(int argc, char **argv);
int train_many_without_manifest(int argc, char **argv);
