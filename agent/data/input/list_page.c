// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/list_page.h"

#include "lib/digest.h"
#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char crc_field[] = ",\"crc\":\"";
enum { CRC_TAIL = sizeof crc_field - 1 + 8 + 3 /* the field, 8 digits, quote, brace, newline */ };

void list_page_release(struct list_page *page) {
    free(page->mark);
    free(page->text);
    free(page->starts);
    *page = (struct list_page){0};
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_whole(const char *text, size_t size) {
    char tail[CRC_TAIL + 1];
    if (size <= CRC_TAIL) {
        return false;
    }
    size_t told = size - CRC_TAIL;
    snprintf(tail, sizeof tail, "%s%08x\"}\n", crc_field, digest_crc32c(0, text, told));
    return memcmp(text + told, tail, CRC_TAIL) == 0;
}

/* Where each line begins, and where the last one ends; the first is the head, the last the end. */
static size_t find_lines(const char *text, size_t size, uint32_t **ret_starts) {
    size_t count = 0, room = 1024;
    uint32_t *starts = x_malloc(room * sizeof *starts);
    starts[0] = 0;
    for (const char *at = text, *end = text + size; at < end && count <= LIST_PAGE_LINES_MAX + 2;) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : end;
        if (++count == room) {
            room *= 2;
            starts = x_realloc_array(starts, room, sizeof *starts);
        }
        starts[count] = (uint32_t)(at - text);
    }
    *ret_starts = starts;
    return count;
}

static int read_head(const char *text, size_t size, const char *run, struct list_page *page,
                     struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse(text, size, size, &tree, err) < 0) {
        return -1;
    }
    if (tree_integer(tree, "windlass", 0) != 1) {
        return error_set(err, ERROR_UNSUPPORTED, "is a page of another release");
    }
    if (strcmp(tree_text(tree, "run", ""), run) != 0) {
        return error_set(err, ERROR_INVALID, "is a page of run %.16s", tree_text(tree, "run", "?"));
    }
    page->first = tree_integer(tree, "first", -1);
    if (tree_integer(tree, "page", -1) != page->number || page->first < 0 ||
        page->first > INT64_MAX / 2) {
        return error_set(err, ERROR_INVALID, "is not page %lld", (long long)page->number);
    }
    return 0;
}

static int read_end(const char *text, size_t size, struct list_page *page, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse(text, size, size, &tree, err) < 0) {
        return -1;
    }
    const char *mark = json_string_value(json_object_get(tree, "mark"));
    if (tree_integer(tree, "end", -1) != (int64_t)page->count ||
        (mark && strlen(mark) > LIST_MARK_MAX)) {
        return error_set(err, ERROR_INVALID, "has another number of lines than its end declares");
    }
    page->mark = x_strdup(mark);
    page->is_last = json_is_true(json_object_get(tree, "last"));
    return 0;
}

static int check_lines(const struct list_page *page, struct error *err) {
    for (size_t i = 0; i < page->count; i++) {
        size_t size = page->starts[i + 1] - 1 - page->starts[i];
        if (size > INPUT_LINE_MAX || !jsontext_is_value(page->text + page->starts[i], size)) {
            return error_set(err, ERROR_INVALID, "line %lld is not JSON of at most %d bytes",
                             (long long)page->first + (long long)i, INPUT_LINE_MAX);
        }
    }
    return 0;
}

int list_page_read(const char *run, int64_t number, char *text, size_t size,
                   struct list_page *ret_page, struct error *err) {
    AUTO(list_page_release) struct list_page page = {.number = number, .text = text};
    if (size > LIST_PAGE_BYTES_MAX || !is_whole(text, size)) {
        return error_set(err, ERROR_INVALID, "is torn");
    }
    size_t lines = find_lines(text, size, &page.starts);
    if (lines < 2 || lines - 2 > LIST_PAGE_LINES_MAX) {
        return error_set(err, ERROR_INVALID, "has no header or no trailer");
    }
    page.count = lines - 2;
    uint32_t end = page.starts[lines - 1];
    if (read_head(text, page.starts[1], run, &page, err) < 0 ||
        read_end(text + end, size - end, &page, err) < 0) {
        return -1;
    }
    memmove(page.starts, page.starts + 1, (page.count + 1) * sizeof *page.starts);
    if (check_lines(&page, err) < 0) {
        return -1;
    }
    *ret_page = page;
    page = (struct list_page){0};
    return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

void list_writer_init(struct list_writer *writer) {
    *writer = (struct list_writer){0};
    buffer_init(&writer->lines, LIST_PAGE_TEXT_MAX);
}

void list_writer_release(struct list_writer *writer) {
    buffer_release(&writer->lines);
    free(TAKE(writer->mark));
    writer->count = 0;
}

int list_writer_add(struct list_writer *writer, const char *line, size_t size, const char *mark,
                    struct error *err) {
    if (size > INPUT_LINE_MAX || !jsontext_is_value(line, size) || memchr(line, '\n', size)) {
        return error_set(err, ERROR_INVALID, "a line of the input is not JSON of at most %d bytes",
                         INPUT_LINE_MAX);
    }
    size_t mark_size = mark ? strlen(mark) : 0;
    if (mark_size > LIST_MARK_MAX || (mark && utf8_valid_size(mark, mark_size) != mark_size)) {
        return error_set(err, ERROR_INVALID,
                         "the input's position is not a text of at most %d bytes", LIST_MARK_MAX);
    }
    if (writer->count == LIST_PAGE_LINES_MAX ||
        writer->lines.size + size + 1 > LIST_PAGE_TEXT_MAX) {
        return 0;
    }
    if (buffer_append(&writer->lines, line, size, err) < 0 ||
        buffer_append(&writer->lines, "\n", 1, err) < 0) {
        return -1;
    }
    writer->count++;
    free(writer->mark);
    writer->mark = x_strdup(mark);
    return 1;
}

char *list_writer_text(const struct list_writer *writer, const char *run, int64_t number,
                       int64_t first, bool is_last, size_t *ret_size) {
    AUTO(tree_freep)
    json_t *end = json_pack("{s:I,s:b,s:s*}", "end", (json_int_t)writer->count, "last", is_last,
                            "mark", writer->mark);
    AUTO(text_freep) char *end_text = json_dumps(end, JSON_COMPACT);
    char *text =
        x_printf("{\"windlass\":1,\"run\":\"%s\",\"page\":%lld,\"first\":%lld}\n%s%.*s", run,
                 (long long)number, (long long)first, writer->lines.data ? writer->lines.data : "",
                 (int)strlen(end_text) - 1, end_text);
    size_t told = strlen(text);
    text = x_realloc(text, told + CRC_TAIL + 1);
    snprintf(text + told, CRC_TAIL + 1, "%s%08x\"}\n", crc_field, digest_crc32c(0, text, told));
    *ret_size = told + CRC_TAIL;
    return text;
}
