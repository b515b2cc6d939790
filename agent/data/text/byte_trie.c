// SPDX-License-Identifier: Apache-2.0
/* Level by level: the strings are sorted, so those below a node are a range, and so are its
 * children. */
#include "agent/data/text/byte_trie.h"

#include <stdlib.h>
#include <string.h>

struct range {
    size_t low, high; /* the strings below a node */
    size_t depth;
};

struct build {
    struct byte_trie *trie;
    const struct byte_trie_string *strings;
    struct range *ranges; /* one per node */
    size_t capacity;
};

static int by_bytes(const void *a, const void *b) {
    const struct byte_trie_string *one = a, *other = b;
    size_t size = MIN(one->size, other->size);
    int order = size ? memcmp(one->data, other->data, size) : 0;
    return order                        ? order
           : one->size != other->size   ? (one->size < other->size ? -1 : 1)
           : one->value != other->value ? (one->value < other->value ? -1 : 1)
                                        : 0;
}

static uint32_t add_node(struct build *build, struct range range, unsigned char label) {
    struct byte_trie *trie = build->trie;
    if (trie->count == build->capacity) {
        build->capacity = MAX(2 * build->capacity, (size_t)256);
        trie->nodes = x_realloc_array(trie->nodes, build->capacity, sizeof *trie->nodes);
        trie->labels = x_realloc_array(trie->labels, build->capacity, 1);
        build->ranges = x_realloc_array(build->ranges, build->capacity, sizeof *build->ranges);
    }
    trie->nodes[trie->count] = (struct byte_trie_node){.value = BYTE_TRIE_NONE};
    trie->labels[trie->count] = label;
    build->ranges[trie->count] = range;
    return (uint32_t)trie->count++;
}

static void expand(struct build *build, uint32_t node) {
    struct range range = build->ranges[node];
    size_t at = range.low;
    for (; at < range.high && build->strings[at].size == range.depth; at++) {
        build->trie->nodes[node].value = build->strings[at].value;
    }
    uint32_t first = (uint32_t)build->trie->count, count = 0;
    while (at < range.high) {
        char label = build->strings[at].data[range.depth];
        size_t low = at;
        while (at < range.high && build->strings[at].data[range.depth] == label) {
            at++;
        }
        uint32_t child =
            add_node(build, (struct range){low, at, range.depth + 1}, (unsigned char)label);
        if (node == 0) {
            build->trie->starts[(unsigned char)label] = child;
        }
        count++;
    }
    build->trie->nodes[node].first = first;
    build->trie->nodes[node].count = count;
}

static int check_sizes(const struct byte_trie_string *strings, size_t count, struct error *err) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (strings[i].size > BYTE_TRIE_STRING_MAX) {
            return error_set(err, ERROR_INVALID, "a token has %zu bytes, at most %d are read",
                             strings[i].size, BYTE_TRIE_STRING_MAX);
        }
        bytes += strings[i].size;
    }
    return bytes > BYTE_TRIE_BYTES_MAX
               ? error_set(err, ERROR_INVALID, "the tokens have %zu bytes, at most %d are read",
                           bytes, BYTE_TRIE_BYTES_MAX)
               : 0;
}

int byte_trie_init(struct byte_trie *trie, struct byte_trie_string *strings, size_t count,
                   struct error *err) {
    *trie = (struct byte_trie){0};
    if (check_sizes(strings, count, err) < 0) {
        return -1;
    }
    if (count) {
        qsort(strings, count, sizeof *strings, by_bytes);
    }
    size_t low = 0;
    while (low < count && strings[low].size == 0) {
        low++;
    }
    struct build build = {.trie = trie, .strings = strings};
    add_node(&build, (struct range){low, count, 0}, 0);
    for (uint32_t node = 0; node < trie->count; node++) {
        expand(&build, node);
    }
    free(build.ranges);
    return 0;
}

void byte_trie_release(struct byte_trie *trie) {
    free(trie->nodes);
    free(trie->labels);
    *trie = (struct byte_trie){0};
}

int32_t byte_trie_find(const struct byte_trie *trie, const char *data, size_t size) {
    uint32_t node = 0;
    for (size_t i = 0; i < size; i++) {
        node = byte_trie_child(trie, node, data[i]);
        if (node == 0) {
            return BYTE_TRIE_NONE;
        }
    }
    return size ? trie->nodes[node].value : BYTE_TRIE_NONE;
}

int32_t byte_trie_longest(const struct byte_trie *trie, const char *data, size_t size,
                          size_t *ret_size) {
    int32_t value = BYTE_TRIE_NONE;
    uint32_t node = 0;
    for (size_t i = 0; i < size; i++) {
        node = byte_trie_child(trie, node, data[i]);
        if (node == 0) {
            break;
        }
        if (trie->nodes[node].value != BYTE_TRIE_NONE) {
            value = trie->nodes[node].value;
            *ret_size = i + 1;
        }
    }
    return value;
}
