// SPDX-License-Identifier: Apache-2.0
#include "lib/text/page.h"

#include "lib/text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD";

void page_init(struct page *page, size_t bytes_max) {
    *page = (struct page){0};
    buffer_init(&page->text, bytes_max);
}

void page_release(struct page *page) {
    buffer_release(&page->text);
}

static void put(struct page *page, const char *bytes, size_t size) {
    if (!page->err.kind && buffer_append(&page->text, bytes, size, &page->err) < 0) {
        return; /* the first error is kept */
    }
}

void page_add(struct page *page, const char *format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= sizeof text) {
        error_set(&page->err, ERROR_BUG, "too long for page_add: %s", format);
        return;
    }
    put(page, text, (size_t)size);
}

/* ---- text from outside ---------------------------------------------------------------------- */

/* XML 1.0 allows three control characters and forbids U+FFFE and U+FFFF. It allows C1 controls and
 * deceptive characters (utf8.h), which a page must not have. */
static bool is_fit(const char *at, size_t size) {
    if (size == 1) {
        return (unsigned char)*at >= ' ' ? *at != 0x7F : *at == '\n' || *at == '\t' || *at == '\r';
    }
    unsigned code = utf8_code(at, size);
    bool is_c1 = code < 0xA0, is_none = code == 0xFFFE || code == 0xFFFF;
    return !is_c1 && !utf8_is_deceptive(code) && !is_none;
}

static void put_escaped(struct page *page, const char *at, size_t size) {
    const char *entity = *at == '<'    ? "&lt;"
                         : *at == '>'  ? "&gt;"
                         : *at == '&'  ? "&amp;"
                         : *at == '"'  ? "&quot;"
                         : *at == '\'' ? "&#39;"
                                       : NULL;
    put(page, entity ? entity : at, entity ? strlen(entity) : size);
}

void page_text(struct page *page, const char *text, size_t bytes_max) {
    size_t size = strlen(text), used = 0;
    for (size_t at = 0; at < size;) {
        size_t length = utf8_character(text + at, size - at);
        bool is_good = length > 0 && is_fit(text + at, length);
        used += length ? length : 1;
        if (bytes_max && used > bytes_max) {
            put(page, "…", strlen("…"));
            return;
        }
        if (is_good) {
            put_escaped(page, text + at, length);
        } else {
            put(page, replacement, strlen(replacement));
        }
        at += length ? length : 1;
    }
}

/* ---- numbers -------------------------------------------------------------------------------- */

void page_count(struct page *page, int64_t count) {
    char digits[32], text[48];
    size_t size = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)MAX(count, 0));
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = digits[i];
    }
    put(page, text, used);
}

/* A no-break space between a number and its unit. */
#define UNIT "\xC2\xA0"

void page_time(struct page *page, int64_t ms) {
    int64_t seconds = (ms + 500) / 1000, minutes = (ms + 30000) / 60000;
    if (ms < 1000) {
        page_add(page, "%d" UNIT "ms", (int)MAX(ms, 0));
    } else if (ms < 9995) {
        page_add(page, "%.2f" UNIT "s", (double)ms / 1000);
    } else if (ms < 59950) {
        page_add(page, "%.1f" UNIT "s", (double)ms / 1000);
    } else if (seconds < 3600) {
        page_add(page, "%d" UNIT "min" UNIT "%02d" UNIT "s", (int)(seconds / 60),
                 (int)(seconds % 60));
    } else if (minutes < 24 * 60) {
        page_add(page, "%d" UNIT "h" UNIT "%02d" UNIT "min", (int)(minutes / 60),
                 (int)(minutes % 60));
    } else {
        page_add(page, "%lld" UNIT "d" UNIT "%d" UNIT "h", (long long)(minutes / 1440),
                 (int)(minutes / 60 % 24));
    }
}

void page_percent(struct page *page, double share) {
    double percent = floor(share * 1000 + 0.5) / 10;
    percent = share < 1 ? MIN(percent, 99.9) : percent;
    percent = share > 0 ? MAX(percent, 0.1) : percent;
    page_add(page, percent == floor(percent) ? "%.0f" UNIT "%%" : "%.1f" UNIT "%%", percent);
}

void page_rate(struct page *page, double rate) {
    if (rate >= 99.95) {
        page_count(page, (int64_t)(rate + 0.5));
    } else {
        page_add(page, rate >= 1 || rate == 0 ? "%.1f" : "%.3f", rate);
    }
}
