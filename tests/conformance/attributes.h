/* attributes.h: a node's attributes written as rows of a table: INTS("pads", 1, 1, 1, 1). */
#pragma once

#include "agent/graph/op.h"

#define LIST(...) ((const int64_t[]){__VA_ARGS__})
#define INTS(key, ...)                                                                             \
    {                                                                                              \
        .name = key, .kind = ATTRIBUTE_INTEGERS,                                                   \
        .count = sizeof LIST(__VA_ARGS__) / sizeof(int64_t), .integers = LIST(__VA_ARGS__)         \
    }
#define INT(key, value)                                                                            \
    { .name = key, .kind = ATTRIBUTE_INTEGER, .integer = value }
#define NUM(key, value)                                                                            \
    { .name = key, .kind = ATTRIBUTE_NUMBER, .number = value }
#define TXT(key, value)                                                                            \
    { .name = key, .kind = ATTRIBUTE_TEXT, .text = value }
