/* page.h: text of pages (report.html, sweep.html) and of CSV files: what comes from outside is
 * escaped here and nowhere else, numbers get the form in which people read them. */
#pragma once

#include "lib/buffer.h"

/* A page that grows; its first failure (it is full) stays, and is seen once, at the end. */
struct page {
    struct buffer text;
    struct error err;
};

void page_init(struct page *page, size_t max_bytes);
void page_release(struct page *page); /* for AUTO, too */
/* Markup of ours: nothing from outside may be among the arguments. */
void page_add(struct page *page, const char *format, ...) PRINTF_LIKE(2, 3);
/* Text from outside, for between tags and for attributes in quotes: <, >, &, both quotes are
 * escaped; what is no UTF-8 or no character of XML becomes U+FFFD. At most max_bytes of it (0: all)
 * and "…". */
void page_text(struct page *page, const char *text, size_t max_bytes);

/* "1,234,567" */
void page_count(struct page *page, int64_t count);
/* "840 ms", "1.84 s", "12.3 s", "4 min 05 s", "3 h 20 min", "2 d 4 h", with spaces that do not
 * break. */
void page_time(struct page *page, int64_t ms);
/* "97.3 %", "100 %"; what is less than all never reads 100 %. */
void page_percent(struct page *page, double share);
/* "0.125", "12.5", "1,250" */
void page_rate(struct page *page, double rate);

/* ---- CSV, RFC 4180 ---- */

/* One field: quoted where it must be. Line ends become spaces, so that a record is a line; what a
 * spreadsheet would take for a formula gets a ' in front. What is no UTF-8 becomes U+FFFD. */
NODISCARD int csv_text(struct buffer *line, const char *text, size_t size, struct error *err);
