/* fingerprint.h: the fingerprint of an input file: a short text that changes when the file changes.
 * A listing stores it with the file's line (input.h), and it is compared later: by a worker that
 * has read the file, and by a rerun. Forms: "CORE REST"; "~CORE REST" if the file was changed just
 * before it was listed, since a second change within the clock's resolution would leave the same
 * fingerprint; "" if the file's state is not known: then nothing is compared.
 *
 * CORE is what all machines see alike: on volumes "SIZE-TIME" in hexadecimal (TIME: last
 * modification in ns), in stores the ETag. Workers compare CORE, with times only as exact as both
 * machines see them, since a mount may show only seconds. REST is inode and ctime, which may differ
 * between machines and may change without the content; only a rerun compares it. */
#pragma once

#include "agent/store/local_file.h"

enum { FINGERPRINT_CORE_MAX = STORE_TOKEN_MAX, FINGERPRINT_MAX = 2 * STORE_TOKEN_MAX + 40 };
#define FINGERPRINT_CHANGED "has changed since it was listed; apply the job again to score it"

/* is_young: the file was changed just before: the form with "~". */
void fingerprint_make(const struct store_info *info, bool is_local, bool is_young,
                      char ret_print[static FINGERPRINT_MAX]);
/* CORE alone; "": the file's state is not known. */
void fingerprint_make_core(const struct store_info *info, bool is_local,
                           char ret_core[static FINGERPRINT_CORE_MAX]);
/* Whether equal fingerprints of this form mean equal content. */
bool fingerprint_is_known(const char *print, size_t size);
/* CORE, borrowed from the fingerprint; it needs no escapes in JSON. 0: it has none. */
size_t fingerprint_core(const char *print, size_t size, const char **ret_core);

/* Whether the object is as it was listed. core: of its line; NULL: not known, the result is true.
 */
bool fingerprint_holds(const struct store_info *info, bool is_local, const char *core);
/* The same for a file on a volume, as it is now. Unless it is known to be on a local disk, it is
 * opened first, because NFS asks its server only then. A file that cannot be read has changed. */
bool fingerprint_holds_file(const struct local_file *file, const char *core);
