/* string_table.h: the distinct strings of a classical model (ai.onnx.ml): categories, keys, labels.
 * The engine has no tensor type for strings: a string tensor is int64 (struct value, is_string),
 * and holds the index of each string in this table; -1: a string that the model does not have. The
 * table is made when the file is read (engine/onnx/string_values.h) and used to convert inputs and
 * results. Hashes have a random seed, so that a file cannot choose strings that collide. */
#pragma once

#include "agent/engine/graph/op.h"

struct arena;
struct string_table;

struct string_table *string_table_new(struct arena *arena); /* released with the arena */
/* Returns the string's index: 0, 1, ... in the order of first calls. The bytes are copied. */
int64_t string_table_add(struct string_table *strings, const char *bytes, size_t size);
/* -1: the model does not have this string. */
int64_t string_table_find(const struct string_table *strings, const char *bytes, size_t size);
/* The string with this index, which string_table_add has returned; valid until the next
 * string_table_add. */
struct attribute_string string_table_at(const struct string_table *strings, int64_t index);
