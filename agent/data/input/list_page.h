/* list_page.h: formats and parses a page of an input's lines. Pure. The text comes from a store
 * that may hold anything, so everything is bounded and checked. A page is an object of JSON Lines:
 *
 *     {"windlass":1,"run":"5f0c…","page":3,"first":7000}
 *     "2019/a.jpg"
 *     {"end":1,"last":true,"mark":"2019/a.jpg","crc":"d0b31f42"}
 *
 * first: the number of its first line; end: the number of lines; mark: where the kind continues
 * after them (absent: it starts over); crc: CRC-32C of all bytes before ,"crc". */
#pragma once

#include "agent/data/input/input.h"

enum {
    LIST_PAGE_LINES_MAX = 64 << 10,
    LIST_PAGE_TEXT_MAX = 1 << 20, /* maximum of its lines */
    LIST_MARK_MAX = 8 << 10,      /* maximum of a mark, bytes */
    LIST_PAGE_BYTES_MAX = LIST_PAGE_TEXT_MAX + (64 << 10),
};

struct list_page {
    int64_t number, first;
    size_t count;
    bool is_last;
    char *mark; /* NULL: none */
    char *text; /* owned, the whole object */
    /* Line i is [starts[i], starts[i + 1] - 1) of text; count + 1 of them. */
    uint32_t *starts;
};
void list_page_release(struct list_page *page);

/* text: moved into the page, also on failure. INVALID: torn, not of this run, not this number. */
NODISCARD int list_page_read(const char *run, int64_t number, char *text, size_t size,
                             struct list_page *ret_page, struct error *err);

struct list_writer {
    struct buffer lines;
    size_t count;
    char *mark;
};
void list_writer_init(struct list_writer *writer);
void list_writer_release(struct list_writer *writer);
/* 1: added; 0: this page is full, take the next; -1 with INVALID: the line is longer than
 * INPUT_LINE_MAX or not JSON, or its mark is too long or not UTF-8. mark: copied; may be NULL. */
NODISCARD int list_writer_add(struct list_writer *writer, const char *line, size_t size,
                              const char *mark, struct error *err);
/* The whole object; the caller frees. */
char *list_writer_text(const struct list_writer *writer, const char *run, int64_t number,
                       int64_t first, bool is_last, size_t *ret_size);
