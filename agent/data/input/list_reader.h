/* list_reader.h: reads the stored pages of a list (list.h) from its first line to its last, kept
 * lines included. One thread; holds one page. */
#pragma once

#include "agent/data/input/list_page.h"
#include "agent/store/store.h"

struct list_reader {
    struct store *store; /* borrowed, as are the strings */
    const char *run, *folder;
    /* Of the current line, borrowed until the next call: */
    char *name;               /* NULL: it cannot be scored, and has no name for a result */
    const char *json, *print; /* print: its fingerprint; not NUL-terminated, like json */
    size_t json_size, print_size;
    bool has_print; /* it has one, which may be empty */
    enum list_flag flag;
    int64_t scored; /* its index among the lines that are scored; -1: its result is kept */
    /* Private */
    struct list_page page;
    int64_t pages;
    size_t next;
    int64_t scored_next;
};

/* folder: ".windlass/RUN/list". run: of the pages. */
void list_reader_init(struct list_reader *reader, struct store *store, const char *run,
                      const char *folder);
void list_reader_release(struct list_reader *reader);
/* 1: the next line is current; 0: there are no more pages. INVALID: a page is truncated, or of
 * another run. */
NODISCARD int list_reader_next(struct list_reader *reader, struct error *err);

/* 1: read; 0: no such page. */
NODISCARD int list_reader_page(struct store *store, const char *run, const char *folder,
                               int64_t number, struct list_page *ret_page, struct error *err);
