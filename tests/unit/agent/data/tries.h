/* tries.h: an output as a store, with tries as if they were committed: lease i of epoch 1 is part
 * i. */
#pragma once

#include "agent/data/parts/staged_output.h"
#include "tests/unit/agent/data/fixtures.h"

#define RUN "0123456789abcdef"

UNUSED static struct store *open_output(const char *spec_path) {
    struct store *output = NULL;
    struct error err = {0};
    CHECK_OK(store_open(spec_path, true, &output, &err), &err);
    return output;
}

/* Room for the parts of `count` mini-batches. */
UNUSED static struct parts new_parts(struct store *output, int64_t count) {
    struct parts parts = {.store = output, .run = RUN, .count = count};
    parts.places = x_calloc((size_t)count, sizeof *parts.places);
    return parts;
}

/* The committed data of a try: its object, size and sum. */
UNUSED static int place_part(struct parts *parts, int64_t index, struct staged_output *staged,
                             struct error *err) {
    if (staged_output_close(staged, err) < 0) {
        return -1;
    }
    struct part part = staged_output_part(staged);
    parts->places[index] = (struct part_place){
        .epoch = 1, .lease = index, .cells = 1, .size_bytes = part.size_bytes, .crc = part.crc};
    parts->places[index].is_there = staged_output_find_place(staged) == STAGED_OBJECT;
    return 0;
}

UNUSED static struct staged_output *new_try(const struct parts *parts, int64_t index) {
    char name[PART_NAME_MAX];
    struct error ignored = {0};
    part_name(RUN, 1, index, name);
    (void)!store_remove(parts->store, name, &ignored); /* a test's second try has the same name */
    return staged_output_new(parts->store, name, false);
}
