/* table.h: the input kind "table": the rows of text files (CSV, TSV, JSON Lines), one file or those
 * of a folder by the names. A line is a mini-batch: a block of whole rows of one file, with the
 * file's change token (split.h says where it ends; spec.miniBatchBytes, at least 4 KiB):
 *
 *     ["2019/a.csv",10485760,20971544,"7x17"]        file, first byte, end, token
 *
 * An item is a row as JSON (rows.h), named by the byte of its file at which it begins:
 * "2019/a.csv:10485811". A row that cannot be read (a wrong number of fields, invalid UTF-8, an
 * open quote) is a failed item. An empty line is not a row.
 *
 * The header is read once a file; all files have the same columns, or the listing is INVALID. Its
 * mark is the last line: a broken listing goes on behind (file, byte). A file that has changed
 * since it was listed is INVALID, for the listing as for a reader. */
#pragma once

#include "agent/data/input/media.h"

extern const struct media table_media;
