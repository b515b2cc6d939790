/* list_page.h: formats and parses one page of the list of an input's lines (list.h), as it is
 * stored. Pure. The bytes come from storage and are not trusted: all is bounded and checked. A page
 * is one stored object, of text lines:
 *
 *     {"windlass":2,"run":"5f0c…","page":3,"first":7000}
 *     "2019/a.jpg" TAB 1f4a-68d… TAB k
 *     {"end":1,"last":true,"cursor":"2019/a.jpg","counts":[1,0,0,0,2],"crc":"d0b31f42"}
 *
 * A line is JSON, then possibly the fingerprint of its content (input.h), then possibly a letter:
 * how a rerun treats it (enum list_flag). Kept lines are not scored and have no number. first: the
 * number of the first line that is scored; end: the number of all lines; cursor: where the kind
 * continues after them (absent: it starts over); counts, and "leftOut" if it is not 0: see struct
 * list_counts, of this page; crc: CRC-32C of all bytes before ,"crc". Format 1, of earlier
 * releases, has neither fingerprints nor counts. */
#pragma once

#include "agent/data/input/input.h"

enum {
    LIST_PAGE_LINES_MAX = 64 << 10,
    LIST_PAGE_TEXT_MAX = 1 << 20, /* maximum of its lines */
    LIST_CURSOR_MAX = 8 << 10,    /* maximum of a cursor, bytes */
    LIST_PAGE_BYTES_MAX = LIST_PAGE_TEXT_MAX + (64 << 10),
};

/* How a rerun treats a line, as a letter. */
enum list_flag {
    LIST_PLAIN = 0,     /* the run is not a rerun */
    LIST_KEPT = 'k',    /* its result is kept */
    LIST_NEW = 'n',     /* it was not in the input before */
    LIST_CHANGED = 'c', /* its fingerprint differs, or is unknown */
    LIST_AGAIN = 'a',   /* it had no result, or has lost it */
};

/* removed: lines of the earlier list that are not in this one; left_out: of struct input_listing.
 */
struct list_counts {
    int64_t kept, added, changed, again, removed, left_out;
};

struct list_line {
    uint32_t start, json_size, print, print_size; /* of the page's text: JSON; fingerprint */
    enum list_flag flag;
};

struct list_page {
    int64_t number, first;
    size_t count; /* lines that are scored */
    bool is_last;
    char *cursor; /* NULL: none */
    char *text;   /* owned, the whole object */
    struct list_line *lines;
    size_t line_count; /* with those that are kept */
    uint32_t *scored;  /* the index in `lines` of each line that is scored */
    struct list_counts counts;
};
void list_page_release(struct list_page *page);

/* text: moved into the page, also on failure. INVALID: truncated, not of this run, not this number.
 */
NODISCARD int list_page_read(const char *run, int64_t number, char *text, size_t size,
                             struct list_page *ret_page, struct error *err);

struct list_writer {
    struct buffer lines;
    size_t count, scored; /* lines; of them those that are scored */
    char *cursor;
    struct list_counts counts; /* its `removed` and `left_out` are the caller's */
};
void list_writer_init(struct list_writer *writer);
void list_writer_release(struct list_writer *writer);
/* line: JSON, with the fingerprint if it has one (input.h). 1: added; 0: this page is full, take
 * the next; -1 with INVALID: the line is longer than INPUT_LINE_MAX or not JSON, or its cursor is
 * too long or not UTF-8. cursor: copied; may be NULL. */
NODISCARD int list_writer_add(struct list_writer *writer, const char *line, size_t size,
                              enum list_flag flag, const char *cursor, struct error *err);
/* Counts what comes before a line, in the page of that line, as a listing continues after lines;
 * *left_out becomes 0. */
void list_writer_leave_out(struct list_writer *writer, int64_t *left_out);
/* The whole object; the caller frees. */
char *list_writer_text(const struct list_writer *writer, const char *run, int64_t number,
                       int64_t first, bool is_last, size_t *ret_size);
