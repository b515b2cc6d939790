/* page.h: builds HTML pages (report.html, sweep.html): escapes text from outside and formats
 * numbers for people. All escaping of HTML is here. */
#pragma once

#include "lib/buffer.h"

/* For the head of each page: it loads nothing, and nothing in it runs. Pictures are in it. */
#define PAGE_POLICY                                                                                \
    "<meta http-equiv=\"Content-Security-Policy\" "                                                \
    "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"/>"

/* A growing page. Its first error (the page is full) is kept in err; check it once, at the end. */
struct page {
    struct buffer text;
    struct error err;
};

void page_init(struct page *page, size_t bytes_max);
void page_release(struct page *page); /* also for AUTO */
/* Appends our own markup; no argument may come from outside. */
void page_add(struct page *page, const char *format, ...) PRINTF_LIKE(2, 3);
/* Appends text from outside, for element content or quoted attributes: escapes <, >, & and both
 * quotes; invalid UTF-8 and characters that XML forbids become U+FFFD. Cuts it after bytes_max
 * (0: no limit) with "…". */
void page_text(struct page *page, const char *text, size_t bytes_max);

/* "1,234,567" */
void page_count(struct page *page, int64_t count);
/* "840 ms", "1.84 s", "12.3 s", "4 min 05 s", "3 h 20 min", "2 d 4 h", with no-break
 * spaces. */
void page_time(struct page *page, int64_t ms);
/* "97.3 %", "100 %"; shares below 1 never round up to 100 %. */
void page_percent(struct page *page, double share);
/* "0.125", "12.5", "1,250" */
void page_rate(struct page *page, double rate);
