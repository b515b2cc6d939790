// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/list_page.h"

#include "lib/digest.h"
#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char crc_field[] = ",\"crc\":\"";
enum { FORMAT = 2, PRINT_MAX = 160 };
enum { CRC_TAIL = sizeof crc_field - 1 + 8 + 3 /* the field, 8 digits, quote, brace, newline */ };

void list_page_release(struct list_page *page) {
    free(page->cursor);
    free(page->text);
    free(page->lines);
    free(page->scored);
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

/* Cuts [start, start + size) at its tabs. False: it has more fields than a line, or an unknown
 * flag. */
static bool cut_line(const char *text, uint32_t start, uint32_t size, struct list_line *ret_line) {
    const char *line = text + start, *end = line + size;
    const char *first = memchr(line, '\t', size);
    const char *second = first ? memchr(first + 1, '\t', (size_t)(end - first - 1)) : NULL;
    *ret_line = (struct list_line){.start = start, .json_size = (uint32_t)((first ?: end) - line)};
    if (first) {
        ret_line->print = (uint32_t)(first + 1 - text);
        ret_line->print_size = (uint32_t)((second ?: end) - first - 1);
    }
    if (second) {
        ret_line->flag = (enum list_flag)(unsigned char)second[1];
    }
    return !second || (end - second == 2 && strchr("knca", second[1]));
}

static int read_head(const char *text, size_t size, const char *run, struct list_page *page,
                     struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse(text, size, size, &tree, err) < 0) {
        return -1;
    }
    int64_t format = tree_integer(tree, "windlass", 0);
    if (format < 1 || format > FORMAT) {
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
    const char *cursor = json_string_value(json_object_get(tree, "cursor"));
    const json_t *counts = json_object_get(tree, "counts");
    if (tree_integer(tree, "end", -1) != (int64_t)page->line_count ||
        (cursor && strlen(cursor) > LIST_CURSOR_MAX)) {
        return error_set(err, ERROR_INVALID, "has another number of lines than its end declares");
    }
    page->cursor = x_strdup(cursor);
    page->is_last = json_is_true(json_object_get(tree, "last"));
    page->counts.left_out = tree_integer(tree, "leftOut", 0);
    if (page->counts.left_out < 0 || page->counts.left_out > INT64_MAX / 1024) {
        return error_set(err, ERROR_INVALID, "has counts that are not numbers");
    }
    int64_t *const numbers[] = {&page->counts.kept, &page->counts.added, &page->counts.changed,
                                &page->counts.again, &page->counts.removed};
    for (size_t i = 0; counts && i < ARRAY_LEN(numbers); i++) {
        const json_t *number = json_array_get(counts, i);
        *numbers[i] = json_integer_value(number);
        if (!json_is_integer(number) || *numbers[i] < 0 || *numbers[i] > INT64_MAX / 1024) {
            return error_set(err, ERROR_INVALID, "has counts that are not numbers");
        }
    }
    return 0;
}

static int read_lines(struct list_page *page, const uint32_t *starts, struct error *err) {
    page->lines = x_malloc((page->line_count + 1) * sizeof *page->lines);
    page->scored = x_malloc((page->line_count + 1) * sizeof *page->scored);
    for (size_t i = 0; i < page->line_count; i++) {
        struct list_line *line = &page->lines[i];
        if (!cut_line(page->text, starts[i], starts[i + 1] - 1 - starts[i], line) ||
            line->json_size > INPUT_LINE_MAX || line->print_size > PRINT_MAX ||
            !jsontext_is_value(page->text + line->start, line->json_size)) {
            return error_set(err, ERROR_INVALID, "line %lld is not JSON of at most %d bytes",
                             (long long)page->first + (long long)i, INPUT_LINE_MAX);
        }
        if (line->flag != LIST_KEPT) {
            page->scored[page->count++] = (uint32_t)i;
        }
    }
    return 0;
}

static int read_page(struct list_page *page, const char *run, size_t size, uint32_t **ret_starts,
                     struct error *err) {
    if (size > LIST_PAGE_BYTES_MAX || !is_whole(page->text, size)) {
        return error_set(err, ERROR_INVALID, "is truncated");
    }
    size_t lines = find_lines(page->text, size, ret_starts);
    const uint32_t *starts = *ret_starts;
    if (lines < 2 || lines - 2 > LIST_PAGE_LINES_MAX) {
        return error_set(err, ERROR_INVALID, "has no header or no trailer");
    }
    page->line_count = lines - 2;
    uint32_t end = starts[lines - 1];
    return read_head(page->text, starts[1], run, page, err) < 0 ||
                   read_end(page->text + end, size - end, page, err) < 0
               ? -1
               : read_lines(page, starts + 1, err);
}

int list_page_read(const char *run, int64_t number, char *text, size_t size,
                   struct list_page *ret_page, struct error *err) {
    AUTO(list_page_release) struct list_page page = {.number = number, .text = text};
    uint32_t *starts = NULL;
    int result = read_page(&page, run, size, &starts, err);
    free(starts);
    if (result == 0) {
        *ret_page = page;
        page = (struct list_page){0};
    }
    return result;
}

/* ---- writing -------------------------------------------------------------------------------- */

void list_writer_init(struct list_writer *writer) {
    *writer = (struct list_writer){0};
    buffer_init(&writer->lines, LIST_PAGE_TEXT_MAX);
}

void list_writer_release(struct list_writer *writer) {
    buffer_release(&writer->lines);
    free(TAKE(writer->cursor));
    writer->count = writer->scored = 0;
    writer->counts = (struct list_counts){0};
}

static void count_flag(struct list_writer *writer, enum list_flag flag) {
    struct list_counts *counts = &writer->counts;
    writer->count++;
    writer->scored += flag != LIST_KEPT;
    counts->kept += flag == LIST_KEPT;
    counts->added += flag == LIST_NEW;
    counts->changed += flag == LIST_CHANGED;
    counts->again += flag == LIST_AGAIN;
}

int list_writer_add(struct list_writer *writer, const char *line, size_t size, enum list_flag flag,
                    const char *cursor, struct error *err) {
    struct list_line cut;
    if (memchr(line, '\n', size) || !cut_line(line, 0, (uint32_t)MIN(size, UINT32_MAX), &cut) ||
        cut.flag || cut.json_size > INPUT_LINE_MAX || cut.print_size > PRINT_MAX ||
        !jsontext_is_value(line, cut.json_size)) {
        return error_set(err, ERROR_INVALID, "a line of the input is not JSON of at most %d bytes",
                         INPUT_LINE_MAX);
    }
    size_t cursor_size = cursor ? strlen(cursor) : 0;
    if (cursor_size > LIST_CURSOR_MAX ||
        (cursor && utf8_valid_size(cursor, cursor_size) != cursor_size)) {
        return error_set(err, ERROR_INVALID,
                         "the input's position is not a string of at most %d bytes",
                         LIST_CURSOR_MAX);
    }
    const char tail[] = {'\t', (char)flag};
    if (writer->count == LIST_PAGE_LINES_MAX ||
        writer->lines.size + size + sizeof tail + 2 > LIST_PAGE_TEXT_MAX) {
        return 0;
    }
    const char *gap = flag && !cut.print ? "\t" : ""; /* it has no fingerprint */
    if (buffer_append(&writer->lines, line, size, err) < 0 ||
        buffer_append(&writer->lines, gap, strlen(gap), err) < 0 ||
        buffer_append(&writer->lines, tail, flag ? sizeof tail : 0, err) < 0 ||
        buffer_append(&writer->lines, "\n", 1, err) < 0) {
        return -1;
    }
    count_flag(writer, flag);
    free(writer->cursor);
    writer->cursor = x_strdup(cursor);
    return 1;
}

void list_writer_leave_out(struct list_writer *writer, int64_t *left_out) {
    writer->counts.left_out += *left_out;
    *left_out = 0;
}

char *list_writer_text(const struct list_writer *writer, const char *run, int64_t number,
                       int64_t first, bool is_last, size_t *ret_size) {
    AUTO(tree_freep)
    json_t *end = json_pack("{s:I,s:b,s:s*}", "end", (json_int_t)writer->count, "last", is_last,
                            "cursor", writer->cursor);
    const struct list_counts *counts = &writer->counts;
    if (counts->kept || counts->added || counts->changed || counts->again || counts->removed) {
        json_object_set_new(end, "counts",
                            json_pack("[I,I,I,I,I]", (json_int_t)counts->kept,
                                      (json_int_t)counts->added, (json_int_t)counts->changed,
                                      (json_int_t)counts->again, (json_int_t)counts->removed));
    }
    if (counts->left_out) {
        json_object_set_new(end, "leftOut", json_integer(counts->left_out));
    }
    AUTO(text_freep) char *end_text = json_dumps(end, JSON_COMPACT);
    char *text =
        x_printf("{\"windlass\":%d,\"run\":\"%s\",\"page\":%lld,\"first\":%lld}\n%s%.*s", FORMAT,
                 run, (long long)number, (long long)first,
                 writer->lines.data ? writer->lines.data : "", (int)strlen(end_text) - 1, end_text);
    size_t told = strlen(text);
    text = x_realloc(text, told + CRC_TAIL + 1);
    snprintf(text + told, CRC_TAIL + 1, "%s%08x\"}\n", crc_field, digest_crc32c(0, text, told));
    *ret_size = told + CRC_TAIL;
    return text;
}
