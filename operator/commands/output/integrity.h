/* integrity.h: `windlass verify`: does an output hold what its result.json says? windlass-agent,
 * which can read volumes, az:// and s3://, does the work. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int integrity_command(int argc, char **argv);
