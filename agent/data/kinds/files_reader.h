/* files_reader.h: how a worker reads the files of a lease; files_input.h has the listing. A line is
 * "name", ["name", "core"] with the core of the listed fingerprint (fingerprint.h), or {"name",
 * "fault"}. A file that has changed since it was listed is a failed item and is not tried again:
 * its result would be recorded for the listed content. The functions are those of struct
 * input_kind. */
#pragma once

#include "agent/data/input/input.h"

enum item_type files_reader_item(const json_t *spec);
NODISCARD int files_reader_open(const json_t *spec, const json_t *lines,
                                struct input_reader **reader, struct error *err);
NODISCARD int files_reader_next(struct input_reader *reader, struct item *item, struct error *err);
void files_reader_free(struct input_reader *reader);
