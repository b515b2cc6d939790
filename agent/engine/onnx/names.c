// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void names_init(struct names *names, size_t count) {
    *names = (struct names){.room = 16};
    while (names->room < 2 * count + 2) {
        names->room *= 2;
    }
    names->places = x_calloc(names->room, sizeof *names->places);
    if (getrandom(&names->seed, sizeof names->seed, GRND_NONBLOCK) < 0) {
        names->seed = (uint64_t)(uintptr_t)names->places;
    }
}

void names_release(struct names *names) {
    free(names->places);
    *names = (struct names){0};
}

static struct name *find_place(const struct names *names, const char *text) {
    uint64_t hash = names->seed;
    for (const char *at = text; *at; at++) {
        hash = (hash ^ (unsigned char)*at) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    size_t mask = names->room - 1, at = hash & mask;
    while (names->places[at].text && strcmp(names->places[at].text, text) != 0) {
        at = (at + 1) & mask;
    }
    return &names->places[at];
}

static void grow(struct names *names) {
    struct names larger = {.room = 2 * names->room, .count = names->count, .seed = names->seed};
    larger.places = x_calloc(larger.room, sizeof *larger.places);
    for (size_t i = 0; i < names->room; i++) {
        if (names->places[i].text) {
            *find_place(&larger, names->places[i].text) = names->places[i];
        }
    }
    free(names->places);
    *names = larger;
}

bool names_add(struct names *names, const char *text, int index) {
    struct name *place = find_place(names, text);
    if (place->text) {
        return false;
    }
    if (names->count >= names->room / 2) {
        grow(names);
        place = find_place(names, text);
    }
    *place = (struct name){text, index};
    names->count++;
    return true;
}

int names_find(const struct names *names, const char *text) {
    const struct name *place = find_place(names, text);
    return place->text ? place->index : -1;
}
