/* zone.h: time zones by name, read from the machine's zoneinfo (Debian's tzdata): the offset from
 * UTC at an instant, and until when it holds. The C library supports one zone per process; the
 * controller needs one per job. A struct zone is immutable. Sources: RFC 9636 (TZif), POSIX.1-2017
 * XBD 8.3 (the TZ variable, which a TZif file ends with). */
#pragma once

#include "lib/error.h"

struct zone;

/* Reads a zone from $TZDIR or, if that is not set, from ZONEINFO_FOLDER: "Europe/Berlin"; "UTC"
 * needs no file. INVALID: unknown zone, or a corrupt file. The caller frees it with zone_free. */
#define ZONEINFO_FOLDER "/usr/share/zoneinfo"
NODISCARD int zone_open(const char *name, struct zone **ret_zone, struct error *err);
/* Parses the bytes of a TZif file of version 2 or later. INVALID: corrupt, or of version 1. The
 * caller frees it with zone_free. */
NODISCARD int zone_parse(const void *data, size_t size, struct zone **ret_zone, struct error *err);
void zone_free(struct zone *zone); /* accepts NULL */

/* A span of time with one offset. */
struct zone_span {
    /* [since, until) in seconds since 1970 UTC; unbounded: INT64_MIN, INT64_MAX */
    int64_t since_s, until_s;
    int64_t offset_s; /* local time - UTC */
};
/* The span that contains the instant. Neighbouring spans may have the same offset. */
struct zone_span zone_find_span(const struct zone *zone, int64_t at_s);
