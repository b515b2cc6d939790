/* attributes.h: a node's attributes written as rows of a table: INTS("pads", 1, 1, 1, 1). */
#pragma once

#include "agent/engine/graph/op.h"

#define LIST(...) ((const int64_t[]){__VA_ARGS__})
#define INTS(key, ...)                                                                             \
    {                                                                                              \
        .name = key, .kind = ATTRIBUTE_INTEGERS,                                                   \
        .count = sizeof LIST(__VA_ARGS__) / sizeof(int64_t), .integers = LIST(__VA_ARGS__)         \
    }
#define INT(key, value)                                                                            \
    { .name = key, .kind = ATTRIBUTE_INTEGER, .integer = value }
#define FLOAT_LIST(...) ((const float[]){__VA_ARGS__})
#define NUMS(key, ...)                                                                             \
    {                                                                                              \
        .name = key, .kind = ATTRIBUTE_NUMBERS,                                                    \
        .count = sizeof FLOAT_LIST(__VA_ARGS__) / sizeof(float),                                   \
        .numbers = FLOAT_LIST(__VA_ARGS__)                                                         \
    }
/* TXTS("nodes_modes", WORD("LEAF"), WORD("LEAF")) */
#define WORD(text)                                                                                 \
    { text, sizeof text - 1 }
#define WORDS(...) ((const struct attribute_string[]){__VA_ARGS__})
#define TXTS(key, ...)                                                                             \
    {                                                                                              \
        .name = key, .kind = ATTRIBUTE_STRINGS,                                                    \
        .count = sizeof WORDS(__VA_ARGS__) / sizeof(struct attribute_string),                      \
        .strings = WORDS(__VA_ARGS__)                                                              \
    }
#define NUM(key, value)                                                                            \
    { .name = key, .kind = ATTRIBUTE_NUMBER, .number = value }
#define TXT(key, value)                                                                            \
    { .name = key, .kind = ATTRIBUTE_STRING, .text = value }
