/* zone.h: time zones by their names, read from the machine's zoneinfo (Debian's tzdata): how far a
 * place's clocks are from UTC at an instant, and until when. The C library knows one zone a
 * process; a controller has one a job. Reads files; what is read is immutable.
 * Sources: RFC 9636 (TZif), POSIX.1-2017 XBD 8.3 (the TZ variable, which a TZif file ends with). */
#pragma once

#include "lib/error.h"

struct zone;

/* "UTC" (which needs no file), "Europe/Berlin". INVALID: there is no such zone here, or its file is
 * broken. ZONEINFO_FOLDER or, where it is set, $TZDIR is looked in. */
#define ZONEINFO_FOLDER "/usr/share/zoneinfo"
NODISCARD int zone_open(const char *name, struct zone **ret_zone, struct error *err);
/* The bytes of a TZif file of version 2 or later. INVALID. */
NODISCARD int zone_parse(const void *data, size_t size, struct zone **ret_zone, struct error *err);
void zone_free(struct zone *zone); /* NULL is fine */

/* A stretch of time with one offset. */
struct zone_span {
    int64_t since_s, until_s; /* [since, until) in seconds since 1970 UTC; INT64_MIN, INT64_MAX */
    int64_t offset_s;         /* local time - UTC */
};
/* The one that holds the instant. Two neighbours may have the same offset. */
struct zone_span zone_span(const struct zone *zone, int64_t at_s);
