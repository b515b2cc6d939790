/* nut_end.h: checks whether a NUT file ends inside one of its packets. An index behind them, which
 * shows that all is there, is only written where the output can be sought in, and not by all
 * programs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum nut_end {
    NUT_END_UNKNOWN, /* the tail has no such point, or what is behind it is not understood */
    NUT_END_WHOLE,
    NUT_END_CUT,
};

/* head: the file's first bytes, with the main header; tail: its last ones, with one of the points
 * where players can begin. */
enum nut_end nut_end_find(const uint8_t *head, size_t head_size, const uint8_t *tail,
                          size_t tail_size);
