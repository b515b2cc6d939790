/* fingerprint.h: the fingerprint of a file of the input, as a listing records it behind a line
 * (input.h): "CORE REST", or "~CORE REST" if the file had just changed when it was listed, so that
 * another change could have left it the same.
 *
 * CORE is what all machines see alike: "SIZE-TIME" on volumes, in hexadecimal, the time in ns; the
 * ETag on az://. A worker compares it when it has read the file; times as exactly as both machines
 * see them, since a mount may show only seconds. REST, which only a rerun compares, has what
 * differs from machine to machine or changes without the content: inode and time of status. Of a
 * file whose state is not known the fingerprint is empty, and nothing is compared. */
#pragma once

#include "agent/store/local_file.h"

enum { FINGERPRINT_CORE_MAX = STORE_TOKEN_MAX, FINGERPRINT_MAX = 2 * STORE_TOKEN_MAX + 40 };
#define FINGERPRINT_CHANGED "has changed since it was listed; apply the job again to score it"

/* is_young: it has just changed. */
void fingerprint_make(const struct store_info *info, bool is_local, bool is_young,
                      char ret_print[static FINGERPRINT_MAX]);
/* CORE alone; "": not known. */
void fingerprint_make_core(const struct store_info *info, bool is_local,
                           char ret_core[static FINGERPRINT_CORE_MAX]);
/* Whether equal fingerprints of this form mean equal content. */
bool fingerprint_is_known(const char *print, size_t size);
/* CORE, borrowed from the fingerprint; it needs no escapes in JSON. 0: it has none. */
size_t fingerprint_core(const char *print, size_t size, const char **ret_core);

/* Whether the object is as listed. core: of its line; NULL: not known: true. */
bool fingerprint_holds(const struct store_info *info, bool is_local, const char *core);
/* The same for a file of this machine, which is opened: with NFS, only that asks the server. A file
 * that cannot be opened has changed. */
bool fingerprint_holds_file(const char *path, const char *core);
