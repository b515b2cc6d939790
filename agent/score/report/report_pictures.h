/* report_pictures.h: small copies of a run's first pictures before and after it, for report.html.
 * Of an input and an output in volumes alone: a remote store is not asked for the page's sake. What
 * cannot be read, or is not a picture of usual size, is left out; the report never fails by them.
 * Their names are those of the run's list: the input is not listed again. */
#pragma once

#include "agent/store/store.h"
#include "lib/text/page.h"
#include "lib/tree.h"

enum {
    REPORT_PICTURES_MAX = 4,             /* pairs */
    REPORT_PICTURE_SIDE = 320,           /* pixels of a copy's longer side, at most */
    REPORT_PICTURE_BYTES_MAX = 16 << 20, /* of a file */
    REPORT_PICTURE_PIXELS_MAX = 24 << 20,
    REPORT_PICTURES_MS = 5000, /* then no further picture is begun */
};

struct report_picture {
    char *name;
    char *sides[2]; /* before, after: base64 of a JPEG */
    int width[2], height[2];
};

struct report_pictures {
    struct report_picture at[REPORT_PICTURES_MAX];
    size_t count;
};

struct report_pictures_options {
    const json_t *spec;
    struct store *output; /* NULL: no pictures */
    const char *added;    /* what an output's file adds to its input's name (output_name.h) */
    int64_t items;        /* of the run's list, from its first on; 0: no pictures */
    /* Appends the name of one of them, in spec.input.files.path. */
    int (*name)(void *context, int64_t item, struct buffer *name, struct error *err);
    void *context;
    bool (*is_interrupted)(void); /* then the rest is left out */
};

/* Looks at the first items only, and for REPORT_PICTURES_MS. */
void report_pictures_make(const struct report_pictures_options *options,
                          struct report_pictures *ret_pictures);
void report_pictures_release(struct report_pictures *pictures); /* for AUTO, too */
/* The section of the page; nothing without pictures. */
void report_pictures_add(struct page *page, const struct report_pictures *pictures);
