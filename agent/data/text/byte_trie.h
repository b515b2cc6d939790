/* byte_trie.h: a tree of bytes that finds all strings of a set that begin at a place of a text: the
 * vocabulary of Unigram, and added tokens. Read-only once it is made. */
#pragma once

#include "lib/error.h"

enum {
    BYTE_TRIE_NONE = -1,
    BYTE_TRIE_STRING_MAX = 1 << 10, /* bytes; at each place of a text this many may be looked at */
    BYTE_TRIE_BYTES_MAX = 32 << 20  /* of all strings: up to 1.2 GB while the tree is made */
};

struct byte_trie_string {
    const char *data;
    size_t size;   /* 0: left out */
    int32_t value; /* at least 0; of equal strings the last one's counts */
};
struct byte_trie_node {
    uint32_t first; /* child */
    uint32_t count; /* children, in the order of their bytes */
    int32_t value;  /* BYTE_TRIE_NONE: no string ends here */
};
struct byte_trie {
    struct byte_trie_node *nodes; /* nodes[0]: the root */
    unsigned char *labels;        /* the byte that leads to each node */
    size_t count;
    uint32_t starts[256]; /* the root's children; 0: none */
};
/* Sorts the strings. INVALID: one of them is too long, or all are together; *trie is empty then. */
NODISCARD int byte_trie_init(struct byte_trie *trie, struct byte_trie_string *strings, size_t count,
                             struct error *err);
void byte_trie_release(struct byte_trie *trie);

/* The child of a node; 0: none. */
static inline uint32_t byte_trie_child(const struct byte_trie *trie, uint32_t node, char byte) {
    unsigned char label = (unsigned char)byte;
    if (node == 0) {
        return trie->starts[label];
    }
    uint32_t low = trie->nodes[node].first, high = low + trie->nodes[node].count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trie->labels[middle] == label) {
            return middle;
        }
        if (trie->labels[middle] < label) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 0;
}

/* The value of exactly this string. */
int32_t byte_trie_find(const struct byte_trie *trie, const char *data, size_t size);
/* The value of the longest string that begins at `data`, and its bytes. */
int32_t byte_trie_longest(const struct byte_trie *trie, const char *data, size_t size,
                          size_t *ret_size);
