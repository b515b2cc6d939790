/* output_lines.h: OUTPUT/outputs.jsonl: the files of an output in mode PerFile, one per line, in
 * the order of the input:
 *
 *     ["2019/a.json",17,"9f86d081884c7d65..."]
 *
 * the name below the output, its size in bytes, and its SHA-256 in hex. It may have millions of
 * lines and comes from a storage that others can write, so it is read piece by piece, and every
 * line is bounded and checked. */
#pragma once

#include "agent/store/store.h"

#define OUTPUT_LINES_NAME "outputs.jsonl"
enum { OUTPUT_LINE_MAX = 6 * STORE_NAME_MAX + 128 /* bytes, with the newline */ };

struct output_line {
    char name[STORE_NAME_MAX + 1];
    int64_t size_bytes;
    char sha256[65];
};

/* Whether the text is 64 lower-case hexadecimal digits. */
bool output_line_is_sha256(const char *text);
/* Whether results may have this name: parts between single slashes, none of them "." or "..", none
 * that begins with ".windlass", at most STORE_NAME_MAX bytes. */
bool output_line_is_name(const char *name);

/* Appends one line. INVALID: the name is not UTF-8, or no name for results. */
NODISCARD int output_line_format(const char *name, int64_t size_bytes, const char *sha256,
                                 struct buffer *buffer, struct error *err);
/* text: without the newline. INVALID: not such a line. */
NODISCARD int output_line_parse(const char *text, size_t size, struct output_line *ret_line,
                                struct error *err);

/* The line is borrowed. -1 with *err ends the reading. */
typedef int output_lines_each(void *context, const struct output_line *line, struct error *err);

/* What a whole list is, as result.json has it. */
struct output_lines_sum {
    struct store_digest hash;   /* of the list itself */
    int64_t count, files_bytes; /* lines, and bytes of all files together */
};
/* Reads the list and calls `each`, which may be NULL, for its lines, in order. NOT_FOUND; INVALID
 * names the line; CONFLICT: the list was replaced while it was read; else the store's or the
 * callback's error. */
NODISCARD int output_lines_read(struct store *store, const char *name, output_lines_each *each,
                                void *context, struct output_lines_sum *ret_sum, struct error *err);

/* The same for bytes that come from elsewhere: init, take for each piece, end. path: for messages.
 * Texts are borrowed. */
struct output_lines_reader {
    const char *path;
    output_lines_each *each;
    void *context;
    struct buffer rest; /* of a line whose end has not come yet */
    int64_t count, files_bytes;
};
void output_lines_reader_init(struct output_lines_reader *reader, const char *path,
                              output_lines_each *each, void *context);
NODISCARD int output_lines_reader_take(struct output_lines_reader *reader, const char *piece,
                                       size_t size, struct error *err);
/* INVALID: the last line has no end. */
NODISCARD int output_lines_reader_end(const struct output_lines_reader *reader, struct error *err);
void output_lines_reader_release(struct output_lines_reader *reader); /* for AUTO, too */

/* Writes a list; the object does not exist before output_lines_end. */
struct output_lines_writer;
NODISCARD int output_lines_begin(struct store *store, const char *name,
                                 struct output_lines_writer **ret_writer, struct error *err);
NODISCARD int output_lines_add(struct output_lines_writer *writer, const char *name,
                               int64_t size_bytes, const char *sha256, struct error *err);
/* Stores it under its name, replacing another, and frees the writer in any case. */
NODISCARD int output_lines_end(struct output_lines_writer *writer, struct output_lines_sum *ret_sum,
                               struct error *err);
void output_lines_free(struct output_lines_writer *writer); /* leaves nothing; accepts NULL */
void output_lines_freep(struct output_lines_writer **writer);
