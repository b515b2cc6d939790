/* integrity.h: `windlass verify`: does an output hold what its result.json says? windlass-agent,
 * which can read volumes and az://, does the work. */
#pragma once

int integrity_command(int argc, char **argv);
