/* page_check.h: checks that a page is well-formed, whatever names and causes are on it. A strict
 * reader of the small set of markup that report_html.c and sweep_html.c use: only known elements,
 * balanced; known attributes, quoted; in text no < and no & except in the five entities. For
 * test_report, test_sweep_html and fuzz_report. */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Names and messages that attack a page: each must stay text. */
static const char *const page_attacks[] = {
    "</title><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "&lt;&amp;&#x3c;script&#62;",
    "]]><!--<![CDATA[",
    "\xFF\xFE\xC0\x80\xED\xA0\x80 not UTF-8 \xF4\x90\x80\x80\xE2\x82",
    "\x01\x02\x1B[31m\x7F control \xC2\x9F",
    "\xE2\x80\xAEtxt.exe turned around\xE2\x81\xA6",
    "\xEF\xBF\xBF no character",
    "%s%n%500d",
    "}</style><style>*{background:url(//example.com)}",
};
enum { PAGE_ATTACKS = sizeof page_attacks / sizeof *page_attacks };

struct page_reader {
    const char *at;
    char open[64][16]; /* open elements */
    int depth;
    const char *fault;
};

static bool page_is_among(const char *word, size_t size, const char *words) {
    for (const char *at = words; *at;) {
        size_t length = strcspn(at, " ");
        if (length == size && memcmp(at, word, size) == 0) {
            return true;
        }
        at += length + strspn(at + length, " ");
    }
    return false;
}

static const char page_elements[] =
    "html head meta title style body main header p h1 h2 dl div dt dd section figure figcaption i "
    "b "
    "svg path rect circle span table caption thead tbody tr th td details summary footer code text";
static const char page_attributes[] =
    "lang xmlns charset http-equiv content name class viewBox preserveAspectRatio role aria-label "
    "d x y cx cy r width height style open text-anchor stroke-opacity title";

/* Checks that the text up to `end` has no markup and no unknown entity. */
static void page_read_text(struct page_reader *reader, const char *end) {
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    for (; reader->at < end && !reader->fault; reader->at++) {
        bool is_known = *reader->at != '&';
        for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
            is_known = is_known || strncmp(reader->at, entities[i], strlen(entities[i])) == 0;
        }
        if (!is_known || *reader->at == '<' || *reader->at == '>') {
            reader->fault = "a bare <, > or &";
        }
    }
}

static void page_read_attributes(struct page_reader *reader) {
    while (!reader->fault && *reader->at == ' ') {
        const char *name = ++reader->at;
        size_t size = strcspn(name, "=\" />");
        const char *value = name + size + 2;
        const char *end = name[size] == '=' && name[size + 1] == '"' ? strchr(value, '"') : NULL;
        if (!end || !page_is_among(name, size, page_attributes)) {
            reader->fault = "an attribute";
            return;
        }
        reader->at = value;
        page_read_text(reader, end);
        reader->at = end + 1;
    }
}

static void page_read_tag(struct page_reader *reader) {
    bool is_end = reader->at[1] == '/';
    const char *name = reader->at + 1 + is_end;
    size_t size = strcspn(name, " />");
    reader->at = name + size;
    if (size >= sizeof *reader->open || !page_is_among(name, size, page_elements)) {
        reader->fault = "an element";
        return;
    }
    if (is_end) {
        bool is_open = reader->depth > 0 && strlen(reader->open[reader->depth - 1]) == size &&
                       memcmp(reader->open[reader->depth - 1], name, size) == 0;
        reader->fault = is_open && *reader->at == '>' ? NULL : "an end tag";
        reader->depth--;
        reader->at++;
        return;
    }
    page_read_attributes(reader);
    bool is_empty = *reader->at == '/';
    reader->at += is_empty;
    if (reader->fault || *reader->at != '>' || reader->depth == 64) {
        reader->fault = reader->fault ? reader->fault : "a tag";
        return;
    }
    reader->at++;
    if (!is_empty) {
        snprintf(reader->open[reader->depth++], sizeof *reader->open, "%.*s", (int)size, name);
    }
}

/* Returns NULL if it is well-formed; otherwise the error, with its position in *ret_at. */
static inline const char *page_fault(const char *page, const char **ret_at) {
    static const char doctype[] = "<!DOCTYPE html>\n";
    struct page_reader reader = {.at = page + strlen(doctype)};
    if (strncmp(page, doctype, strlen(doctype)) != 0) {
        return "no DOCTYPE";
    }
    while (*reader.at && !reader.fault) {
        if (*reader.at == '<') {
            page_read_tag(&reader);
        } else {
            page_read_text(&reader, reader.at + strcspn(reader.at, "<"));
        }
    }
    *ret_at = reader.at;
    return reader.fault ? reader.fault : reader.depth ? "elements that are open" : NULL;
}
