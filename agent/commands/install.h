/* install.h: `windlass-agent install FOLDER` copies the files that a container of another image
 * needs to be a worker: FOLDER/windlass-shim, and FOLDER/ca.crt, the certificate authorities for
 * storage (azure_place.h). An init container with this program's image runs it on a folder that
 * both containers mount. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int install_command(int argc, char **argv);
