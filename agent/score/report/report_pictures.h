/* report_pictures.h: small copies of a job's first pictures before and after it, for report.html.
 * Of an input and an output in volumes alone: a remote store is not asked for the page's sake. What
 * cannot be read, or is not a picture of usual size, is left out; the report never fails by them.
 */
#pragma once

#include "agent/store/store.h"
#include "lib/text/page.h"
#include "lib/tree.h"

enum {
    REPORT_PICTURES_MAX = 4,             /* pairs */
    REPORT_PICTURE_SIDE = 320,           /* pixels of a copy's longer side, at most */
    REPORT_PICTURE_BYTES_MAX = 16 << 20, /* of a file */
    REPORT_PICTURE_PIXELS_MAX = 24 << 20,
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

/* added: what an output's file adds to its input's name (output_name.h). */
void report_pictures_make(const json_t *spec, struct store *output, const char *added,
                          struct report_pictures *ret_pictures);
void report_pictures_release(struct report_pictures *pictures); /* for AUTO, too */
/* The section of the page; nothing without pictures. */
void report_pictures_add(struct page *page, const struct report_pictures *pictures);
