/* check_server.h: what an API server would say to manifests, by a dry run of a server-side apply of
 * each, as its file has it: the cluster's definition and rules, admission, rights. */
#pragma once

#include "operator/commands/remote.h"
#include "operator/resource_files.h"

/* Asks for each resource that is not refused yet. Sets `why` of those that the server refuses, with
 * its words (INVALID). Its warnings are printed to standard error, each text once, and the first
 * field of a spec that its definition drops. -1: no API server answered. */
NODISCARD int check_server_ask(const struct remote_options *where, struct resource_files *files,
                               struct error *err);
