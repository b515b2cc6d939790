/* embedded.h: files that are part of the program. */
#pragma once

struct embedded {
    const char *name; /* "crds/batchscore.yaml"; the last row has NULL */
    const char *text; /* NUL-terminated */
};

extern const struct embedded embedded_crds[];
