/* install.h: `windlass-agent install FOLDER`: what a container of another image needs to be a
 * worker: FOLDER/windlass-shim, and FOLDER/ca.crt, who may vouch for a storage (azure_place.h). An
 * init container of this program's image runs it, on a folder that both containers see. */
#pragma once

int install_command(int argc, char **argv);
