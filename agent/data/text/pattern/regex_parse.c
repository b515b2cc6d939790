// SPDX-License-Identifier: Apache-2.0
/* The text of a pattern -> a tree. */
#include "agent/data/text/pattern/regex_tree.h"

#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

struct parsing {
    const char *start, *at, *end;
    struct regex_tree *tree;
    struct regex *regex;
    int depth;
    bool ignores_case, is_dot_all;
};

static int refuse(const struct parsing *parsing, enum error_kind kind, const char *what,
                  struct error *err) {
    return error_set(err, kind, "byte %zu: %s", (size_t)(parsing->at - parsing->start), what);
}

static bool is_next(const struct parsing *parsing, const char *text) {
    size_t size = strlen(text);
    return (size_t)(parsing->end - parsing->at) >= size && memcmp(parsing->at, text, size) == 0;
}

static bool take(struct parsing *parsing, const char *text) {
    bool is_there = is_next(parsing, text);
    parsing->at += is_there ? strlen(text) : 0;
    return is_there;
}

/* -1: too many. */
static int32_t add_node(struct parsing *parsing, struct regex_node node, struct error *err) {
    struct regex_tree *tree = parsing->tree;
    if (tree->count == REGEX_NODES_MAX) {
        (void)refuse(parsing, ERROR_UNSUPPORTED, "the pattern is too long", err);
        return -1;
    }
    tree->nodes[tree->count] = node;
    return (int32_t)tree->count++;
}

static int32_t add_join(struct parsing *parsing, enum regex_kind kind, int32_t left, int32_t right,
                        struct error *err) {
    return add_node(parsing, (struct regex_node){.kind = kind, .left = left, .right = right}, err);
}

static int32_t add_character(struct parsing *parsing, unsigned code, struct error *err) {
    bool is_folded = parsing->ignores_case;
    return add_node(
        parsing,
        (struct regex_node){.kind = is_folded ? REGEX_NODE_FOLDED : REGEX_NODE_CHARACTER,
                            .value = (int32_t)(is_folded ? unicode_fold(code) : code)},
        err);
}

static int32_t add_anchor(struct parsing *parsing, enum regex_op op, struct error *err) {
    return add_node(parsing, (struct regex_node){.kind = REGEX_NODE_ANCHOR, .value = (int32_t)op},
                    err);
}

/* ---- characters ----------------------------------------------------------------------------- */

static bool read_hex(struct parsing *parsing, int most, unsigned *ret_code) {
    static const char digits[] = "0123456789abcdef";
    int count = 0;
    *ret_code = 0;
    for (; count < most && parsing->at < parsing->end && *parsing->at; count++, parsing->at++) {
        const char *digit = strchr(digits, *parsing->at | 32);
        if (!digit || !*digit) {
            break;
        }
        *ret_code = *ret_code << 4 | (unsigned)(digit - digits);
    }
    return count > 0;
}

/* Behind a backslash: a character. 0: it is not one. */
static int read_escaped(struct parsing *parsing, unsigned *ret_code, struct error *err) {
    static const char from[] = "tnrfvae", to[] = "\t\n\r\f\v\a\033";
    const char *found = *parsing->at ? strchr(from, *parsing->at) : NULL;
    if (found) {
        parsing->at++;
        *ret_code = (unsigned char)to[found - from];
        return 1;
    }
    if (is_next(parsing, "x") || is_next(parsing, "u")) {
        int most = *parsing->at++ == 'u' ? 4 : 2;
        bool is_long = take(parsing, "{");
        bool is_read =
            read_hex(parsing, is_long ? 8 : most, ret_code) && (!is_long || take(parsing, "}"));
        return is_read && *ret_code < UNICODE_CODES
                   ? 1
                   : refuse(parsing, ERROR_INVALID, "expected a number of a character", err);
    }
    bool is_letter = ((*parsing->at | 32) >= 'a' && (*parsing->at | 32) <= 'z') ||
                     (*parsing->at >= '0' && *parsing->at <= '9');
    if (is_letter) {
        return 0;
    }
    *ret_code = unicode_read(&parsing->at);
    return 1;
}

/* Behind a backslash: a class. 0: it is not one. */
static int read_class(struct parsing *parsing, struct regex_item *ret_item, struct error *err) {
    if (regex_item_of_letter(*parsing->at, ret_item)) {
        parsing->at++;
        return 1;
    }
    if (!is_next(parsing, "p{") && !is_next(parsing, "P{")) {
        return 0;
    }
    const char *name = parsing->at + 2;
    const char *brace = memchr(name, '}', (size_t)(parsing->end - name));
    if (!brace || !regex_item_of_name(name, (size_t)(brace - name), ret_item)) {
        return refuse(parsing, ERROR_UNSUPPORTED,
                      "a property that is not supported; supported: general categories, such as L, "
                      "Lu, N, P, and Space",
                      err);
    }
    ret_item->is_negated ^= *parsing->at == 'P';
    parsing->at = brace + 1;
    return 1;
}

/* ---- sets ----------------------------------------------------------------------------------- */

static int read_set(struct parsing *parsing, int32_t *ret_set, struct error *err);

static int add_item(struct parsing *parsing, int32_t set, struct regex_item item,
                    struct error *err) {
    return regex_sets_put(&parsing->regex->sets, set, item)
               ? 0
               : refuse(parsing, ERROR_UNSUPPORTED, "the sets are too long", err);
}

/* A character of a set, or a class, which is added: *ret_code is -1 then. */
static int read_member(struct parsing *parsing, int32_t set, int64_t *ret_code, struct error *err) {
    struct regex_item item;
    unsigned code = 0;
    *ret_code = -1;
    if (!take(parsing, "\\")) {
        *ret_code = unicode_read(&parsing->at);
        return 0;
    }
    if (parsing->at == parsing->end) {
        return refuse(parsing, ERROR_INVALID, "nothing follows the backslash", err);
    }
    int found = read_class(parsing, &item, err);
    if (found != 0) {
        return found < 0 ? -1 : add_item(parsing, set, item, err);
    }
    found = is_next(parsing, "b") ? 0 : read_escaped(parsing, &code, err);
    *ret_code = code;
    return found > 0   ? 0
           : found < 0 ? -1
                       : refuse(parsing, ERROR_UNSUPPORTED, "an escape that is not supported", err);
}

/* A member, or a range of two. */
static int read_range(struct parsing *parsing, int32_t set, struct error *err) {
    int64_t first, last;
    if (read_member(parsing, set, &first, err) < 0) {
        return -1;
    }
    if (first < 0) {
        return 0;
    }
    last = first;
    if (parsing->end - parsing->at >= 2 && *parsing->at == '-' && parsing->at[1] != ']') {
        parsing->at++;
        if (read_member(parsing, set, &last, err) < 0) {
            return -1;
        }
        if (last < first) {
            return refuse(parsing, ERROR_INVALID, "a range whose end is before its start", err);
        }
    }
    return add_item(
        parsing, set,
        (struct regex_item){.first = (unsigned)first, .last = (unsigned)last, .set = -1}, err);
}

/* Behind the bracket. */
static int read_members(struct parsing *parsing, int32_t set, struct error *err) {
    for (bool is_first = true; is_first || !take(parsing, "]"); is_first = false) {
        if (parsing->at == parsing->end) {
            return refuse(parsing, ERROR_INVALID, "the set has no end", err);
        }
        if (is_next(parsing, "&&") || is_next(parsing, "[:")) {
            return refuse(parsing, ERROR_UNSUPPORTED,
                          "intersections of sets and [:names:] are not supported", err);
        }
        if (take(parsing, "[")) {
            int32_t inner;
            if (read_set(parsing, &inner, err) < 0 ||
                add_item(parsing, set, (struct regex_item){.first = 1, .set = inner}, err) < 0) {
                return -1;
            }
        } else if (read_range(parsing, set, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int read_set(struct parsing *parsing, int32_t *ret_set, struct error *err) {
    struct regex_sets *sets = &parsing->regex->sets;
    int32_t set = regex_sets_add(sets);
    if (set < 0 || ++parsing->depth > REGEX_DEPTH_MAX) {
        return refuse(parsing, ERROR_UNSUPPORTED, "too many sets", err);
    }
    sets->sets[set].is_negated = take(parsing, "^");
    sets->sets[set].ignores_case = parsing->ignores_case;
    if (read_members(parsing, set, err) < 0) {
        return -1;
    }
    parsing->depth--;
    regex_set_seal(sets, set);
    *ret_set = set;
    return 0;
}

static int32_t add_set(struct parsing *parsing, int32_t set, struct error *err) {
    return add_node(parsing, (struct regex_node){.kind = REGEX_NODE_SET, .value = set}, err);
}

/* A set of one item. */
static int32_t add_item_alone(struct parsing *parsing, struct regex_item item, bool is_negated,
                              struct error *err) {
    int32_t set = regex_sets_add(&parsing->regex->sets);
    if (set < 0) {
        (void)refuse(parsing, ERROR_UNSUPPORTED, "too many sets", err);
        return -1;
    }
    parsing->regex->sets.sets[set].is_negated = is_negated;
    if (add_item(parsing, set, item, err) < 0) {
        return -1;
    }
    regex_set_seal(&parsing->regex->sets, set);
    return add_set(parsing, set, err);
}

/* ---- parts ---------------------------------------------------------------------------------- */

static int32_t parse_either(struct parsing *parsing, struct error *err);

static bool read_flags(struct parsing *parsing) {
    bool is_on = true;
    while (parsing->at < parsing->end && strchr("imx-", *parsing->at)) {
        if (*parsing->at == '-') {
            is_on = false;
        } else if (*parsing->at == 'i') {
            parsing->ignores_case = is_on;
        } else if (*parsing->at == 'm') {
            parsing->is_dot_all = is_on;
        } else if (is_on) {
            return false; /* x */
        }
        parsing->at++;
    }
    return true;
}

/* What is behind "(?": the step that it is within, or -1: none; -2: refused. */
static int32_t read_opening(struct parsing *parsing, struct error *err) {
    if (take(parsing, ":")) {
        return -1;
    }
    if (take(parsing, "=")) {
        return REGEX_AHEAD;
    }
    if (take(parsing, "!")) {
        return REGEX_NOT_AHEAD;
    }
    if (take(parsing, ">")) {
        return REGEX_ATOMIC;
    }
    if (is_next(parsing, "<=") || is_next(parsing, "<!")) {
        (void)refuse(parsing, ERROR_UNSUPPORTED, "look-behind is not supported", err);
        return -2;
    }
    if (take(parsing, "<")) { /* a name */
        const char *end = memchr(parsing->at, '>', (size_t)(parsing->end - parsing->at));
        parsing->at = end ? end + 1 : parsing->end;
        return -1;
    }
    if (read_flags(parsing) && is_next(parsing, ":")) {
        parsing->at++;
        return -1;
    }
    if (is_next(parsing, ")")) { /* flags for the rest of the group */
        return -1;
    }
    (void)refuse(parsing, ERROR_UNSUPPORTED, "a group that is not supported", err);
    return -2;
}

static int32_t parse_group(struct parsing *parsing, struct error *err) {
    bool ignores_case = parsing->ignores_case, is_dot_all = parsing->is_dot_all;
    int32_t within = take(parsing, "?") ? read_opening(parsing, err) : -1;
    if (within == -2) {
        return -1;
    }
    if (++parsing->depth > REGEX_DEPTH_MAX) {
        (void)refuse(parsing, ERROR_UNSUPPORTED, "groups are too deep", err);
        return -1;
    }
    bool sets_flags = parsing->at[-1] != ':' && is_next(parsing, ")") && within == -1 &&
                      (ignores_case != parsing->ignores_case || is_dot_all != parsing->is_dot_all);
    int32_t node = parse_either(parsing, err);
    if (node >= 0 && !take(parsing, ")")) {
        (void)refuse(parsing, ERROR_INVALID, "the group has no end", err);
        return -1;
    }
    parsing->depth--;
    if (!sets_flags) {
        parsing->ignores_case = ignores_case;
        parsing->is_dot_all = is_dot_all;
    }
    if (node < 0 || within < 0) {
        return node;
    }
    return add_node(parsing,
                    (struct regex_node){.kind = REGEX_NODE_WITHIN, .value = within, .left = node},
                    err);
}

static int32_t parse_escape(struct parsing *parsing, struct error *err) {
    struct regex_item item;
    unsigned code = 0;
    if (parsing->at == parsing->end) {
        (void)refuse(parsing, ERROR_INVALID, "nothing follows the backslash", err);
        return -1;
    }
    int found = read_class(parsing, &item, err);
    if (found != 0) {
        return found < 0 ? -1 : add_item_alone(parsing, item, false, err);
    }
    if (is_next(parsing, "A") || is_next(parsing, "z")) {
        return add_anchor(parsing, *parsing->at++ == 'A' ? REGEX_TEXT_START : REGEX_TEXT_END, err);
    }
    found = read_escaped(parsing, &code, err);
    if (found == 0) {
        (void)refuse(parsing, ERROR_UNSUPPORTED, "an escape that is not supported", err);
    }
    return found > 0 ? add_character(parsing, code, err) : -1;
}

static int32_t parse_atom(struct parsing *parsing, struct error *err) {
    int32_t set;
    if (take(parsing, "(")) {
        return parse_group(parsing, err);
    }
    if (take(parsing, "[")) {
        return read_set(parsing, &set, err) < 0 ? -1 : add_set(parsing, set, err);
    }
    if (take(parsing, "\\")) {
        return parse_escape(parsing, err);
    }
    if (take(parsing, ".")) {
        struct regex_item line = {.first = '\n', .last = '\n', .set = -1};
        struct regex_item none = {.first = UNICODE_CODES, .last = UNICODE_CODES, .set = -1};
        return add_item_alone(parsing, parsing->is_dot_all ? none : line, true, err);
    }
    if (take(parsing, "^")) {
        return add_anchor(parsing, REGEX_LINE_START, err);
    }
    if (take(parsing, "$")) {
        return add_anchor(parsing, REGEX_LINE_END, err);
    }
    if (strchr("*+?", *parsing->at)) {
        (void)refuse(parsing, ERROR_INVALID, "nothing to repeat", err);
        return -1;
    }
    return add_character(parsing, unicode_read(&parsing->at), err);
}

static bool read_number(struct parsing *parsing, int32_t *ret_number) {
    const char *start = parsing->at;
    *ret_number = 0;
    for (; parsing->at < parsing->end && *parsing->at >= '0' && *parsing->at <= '9';
         parsing->at++) {
        *ret_number = MIN(*ret_number * 10 + (*parsing->at - '0'), REGEX_REPEAT_MAX + 1);
    }
    return parsing->at > start;
}

/* "{2,5}", "{2}", "{2,}", "{,5}". 0: it is not one, and the brace is a character. */
static int read_bounds(struct parsing *parsing, struct regex_node *node, struct error *err) {
    const char *start = parsing->at;
    parsing->at++;
    bool has_min = read_number(parsing, &node->min);
    bool has_comma = take(parsing, ",");
    bool has_max = has_comma && read_number(parsing, &node->max);
    if (!take(parsing, "}") || (!has_min && !has_max)) {
        parsing->at = start;
        return 0;
    }
    node->max = has_max ? node->max : has_comma ? -1 : node->min;
    if (node->min > REGEX_REPEAT_MAX || node->max > REGEX_REPEAT_MAX ||
        (node->max >= 0 && node->max < node->min)) {
        return refuse(parsing, ERROR_UNSUPPORTED, "repeats more than 1000 times, or too few", err);
    }
    return 1;
}

/* What repeats the atom: 1, and the node without it; 0: nothing; -1. */
static int read_repeat(struct parsing *parsing, struct regex_node *node, struct error *err) {
    *node = (struct regex_node){.kind = REGEX_NODE_REPEAT, .max = -1};
    if (is_next(parsing, "{")) {
        return read_bounds(parsing, node, err);
    }
    if (take(parsing, "?")) {
        node->max = 1;
        return 1;
    }
    node->min = is_next(parsing, "+");
    return take(parsing, "*") || take(parsing, "+");
}

static int32_t parse_repeated(struct parsing *parsing, struct error *err) {
    struct regex_node repeat;
    int32_t node = parse_atom(parsing, err);
    for (int count = 0; node >= 0; count++) {
        bool is_bounds = is_next(parsing, "{");
        int found = read_repeat(parsing, &repeat, err);
        if (found <= 0) {
            return found < 0 ? -1 : node;
        }
        if (count == REGEX_DEPTH_MAX) {
            return refuse(parsing, ERROR_UNSUPPORTED, "too many repetitions of one atom", err);
        }
        repeat.left = node;
        repeat.is_lazy = take(parsing, "?");
        bool is_possessive = !repeat.is_lazy && !is_bounds && take(parsing, "+");
        node = add_node(parsing, repeat, err);
        if (node >= 0 && is_possessive) {
            node = add_node(
                parsing,
                (struct regex_node){.kind = REGEX_NODE_WITHIN, .value = REGEX_ATOMIC, .left = node},
                err);
        }
    }
    return -1;
}

static int32_t parse_all(struct parsing *parsing, struct error *err) {
    int32_t node = add_node(parsing, (struct regex_node){.kind = REGEX_NODE_EMPTY}, err);
    while (node >= 0 && parsing->at < parsing->end && !is_next(parsing, "|") &&
           !is_next(parsing, ")")) {
        int32_t next = parse_repeated(parsing, err);
        node = next < 0 ? -1 : add_join(parsing, REGEX_NODE_ALL, node, next, err);
    }
    return node;
}

static int32_t parse_either(struct parsing *parsing, struct error *err) {
    int32_t node = parse_all(parsing, err);
    if (node < 0 || !take(parsing, "|")) {
        return node;
    }
    int32_t other = parse_either(parsing, err);
    return other < 0 ? -1 : add_join(parsing, REGEX_NODE_EITHER, node, other, err);
}

int regex_parse(const char *pattern, size_t size, struct regex *regex, struct error *err) {
    struct regex_tree *tree = x_calloc(1, sizeof *tree);
    struct parsing parsing = {
        .start = pattern, .at = pattern, .end = pattern + size, .tree = tree, .regex = regex};
    int result = -1;
    if (utf8_valid_size(pattern, size) != size || memchr(pattern, 0, size)) {
        error_set(err, ERROR_INVALID, "the pattern is not UTF-8, or has a NUL");
    } else {
        int32_t node = parse_either(&parsing, err);
        result = node < 0 ? -1
                 : parsing.at < parsing.end
                     ? refuse(&parsing, ERROR_INVALID, "a ) without its (", err)
                     : regex_compile(tree, node, regex, err);
    }
    free(tree);
    return result;
}
