/* texts.h: the texts that a classical model knows: categories, keys and labels. The engine has no
 * type for texts: one is its number here wherever it flows (an int64 value with is_text), and every
 * text that the model does not know is -1. Made as the file is read (engine/onnx/text_values.h),
 * asked where rows come in and results go out. Hashes are seeded at random, as names.h's. */
#pragma once

#include "agent/engine/graph/op.h"

struct arena;
struct texts;

struct texts *texts_new(struct arena *arena); /* the arena ends it */
/* Its number: 0, 1, ... in the order of the first calls. The bytes are copied. */
int64_t texts_add(struct texts *texts, const char *bytes, size_t size);
/* -1: the model does not know it. */
int64_t texts_find(const struct texts *texts, const char *bytes, size_t size);
/* Borrowed until the next texts_add; a number that was given. */
struct attribute_text texts_at(const struct texts *texts, int64_t number);
