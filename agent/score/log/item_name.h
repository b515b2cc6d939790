/* item_name.h: display names of items whose line is a whole mini-batch (input.h): a row's file and
 * byte, a slice's file and number. Names are not stored: the line is read again, and the reader
 * keeps its position for the next item. For the coordinator's reports; one thread. */
#pragma once

#include "agent/data/input/list.h"

struct item_names;

/* All arguments are borrowed and must outlive the names. list: complete or not. */
struct item_names *item_names_new(const json_t *spec, const struct input_kind *kind,
                                  struct list *list);
void item_names_free(struct item_names *names);

/* Appends the name of item `index`, counted from the start of line `first`. An item that cannot be
 * read any more is named by its position: "a.csv:1048576+12" is the 13th item from that byte on (if
 * a line has the rows of a key: the 13th row of the key; if its ranges are not in the line, the
 * name is ["b1","mon"]+12). INVALID: the list is truncated, or has no such line. */
NODISCARD int item_names_add(struct item_names *names, int64_t first, int64_t index,
                             struct buffer *name, struct error *err);
/* Appends the item itself, if it is JSON and can be read; else nothing. */
NODISCARD int item_names_json(struct item_names *names, int64_t first, int64_t index,
                              struct buffer *json, struct error *err);
