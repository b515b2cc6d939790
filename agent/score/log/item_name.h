/* item_name.h: display names of items whose line is a whole mini-batch (input.h): a row's file and
 * byte, a slice's file and number. Names are not stored: the line is read again, and a reader stays
 * at its place for the next item. For the coordinator's reports; one thread. */
#pragma once

#include "agent/data/input/list.h"

struct item_names;

/* All is borrowed and must outlive them; list: complete or not. */
struct item_names *item_names_new(const json_t *spec, const struct input_kind *kind,
                                  struct list *list);
void item_names_free(struct item_names *names);

/* Appends the name of item `index` behind the beginning of line `first`. What cannot be read any
 * more is called by its place: "a.csv:1048576+12", the 13th behind that byte (of those of its key,
 * where a line has the rows of one; where its ranges are not in the line: ["b1","mon"]+12).
 * INVALID: the list is torn, or has no such line. */
NODISCARD int item_names_add(struct item_names *names, int64_t first, int64_t index,
                             struct buffer *name, struct error *err);
