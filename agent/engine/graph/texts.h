/* texts.h: the texts of a classical model: categories, keys and labels. The engine has no text
 * type: a text is represented by its number in this table (an int64 value with is_text), and a text
 * that the model does not have is -1. The table is made when the file is read
 * (engine/onnx/text_values.h) and used to convert inputs and results. Hashes have a random seed, as
 * in names.h. */
#pragma once

#include "agent/engine/graph/op.h"

struct arena;
struct texts;

struct texts *texts_new(struct arena *arena); /* released with the arena */
/* Returns the text's number: 0, 1, ... in the order of first calls. The bytes are copied. */
int64_t texts_add(struct texts *texts, const char *bytes, size_t size);
/* -1: the model does not have this text. */
int64_t texts_find(const struct texts *texts, const char *bytes, size_t size);
/* number must be one that texts_add has returned. The result is valid until the next texts_add. */
struct attribute_text texts_at(const struct texts *texts, int64_t number);
