/* verification.h: `windlass-agent verify OUTPUT`, which `windlass verify` starts: does an output
 * hold what its result.json says (agent/result/verify.h), and who signed that? */
#pragma once

/* Returns the exit code (docs/errors.md). */
int verification_command(int argc, char **argv);
