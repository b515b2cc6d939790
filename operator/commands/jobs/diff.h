/* diff.h: `windlass diff`: what manifests would change in jobs that exist. */
#pragma once

int diff_command(int argc, char **argv);
