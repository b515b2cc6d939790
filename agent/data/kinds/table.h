/* table.h: the input kind "table": the rows of text files (CSV, TSV, JSON Lines), one file, or the
 * files of a folder in the order of their names. A line of the listing (input.h) is a mini-batch: a
 * block of complete rows of one file, with a text that differs if the file has changed (split.h
 * says where a block ends; spec.miniBatchBytes, at least 4 KiB; 0: a block is a row):
 *
 *     ["2019/a.csv",10485760,20971544,"7x17"]        file, first byte, end, token
 *
 * An item is a row as JSON (row_parser.h), named by the byte of its file at which it begins:
 * "2019/a.csv:10485811". A row that cannot be read (wrong number of fields, invalid UTF-8, unclosed
 * quote) is a failed item. An empty line is not a row.
 *
 * The header is read once per file; all files must have the same columns, or the listing fails with
 * INVALID. The cursor is the last line: an interrupted listing continues after (file, byte).
 * Listing and reader both fail with INVALID if a file has changed since it was listed. */
#pragma once

#include "agent/data/input/media.h"

extern const struct media table_media;
