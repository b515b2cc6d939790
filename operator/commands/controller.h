/* controller.h: `windlass controller`: the controller on a Kubernetes cluster. It runs until a
 * signal stops it. */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int controller_command(int argc, char **argv);
