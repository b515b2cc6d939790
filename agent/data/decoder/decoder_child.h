/* decoder_child.h: the process that decodes for decoder.h. It confines itself before it reads the
 * first byte of a user's file, then answers calls until its socket ends. */
#pragma once

/* The hidden command "decoder" of windlass-agent and windlass-trainer, for decoder_process.h alone.
 * Returns the exit code. */
int decoder_child_main(int argc, char **argv);
