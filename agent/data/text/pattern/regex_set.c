// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/pattern/regex_set.h"

#include <stdlib.h>
#include <string.h>

#define BIT(category) ((unsigned)UNICODE_##category)
#define LETTERS (BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO))
#define WORDS                                                                                      \
    (LETTERS | BIT(MN) | BIT(MC) | BIT(ME) | BIT(ND) | BIT(NL) | BIT(PC) | UNICODE_MORE_WORDS)

static const struct {
    const char *name, *long_name;
    unsigned categories, flags;
} classes[] = {
    {"L", "Letter", LETTERS, 0},
    {"N", "Number", BIT(ND) | BIT(NL) | BIT(NO), 0},
    {"Lu", "Uppercase_Letter", BIT(LU), 0},
    {"Ll", "Lowercase_Letter", BIT(LL), 0},
    {"Lt", "Titlecase_Letter", BIT(LT), 0},
    {"Lm", "Modifier_Letter", BIT(LM), 0},
    {"Lo", "Other_Letter", BIT(LO), 0},
    {"M", "Mark", BIT(MN) | BIT(MC) | BIT(ME), 0},
    {"Mn", "Nonspacing_Mark", BIT(MN), 0},
    {"Mc", "Spacing_Mark", BIT(MC), 0},
    {"Me", "Enclosing_Mark", BIT(ME), 0},
    {"Nd", "Decimal_Number", BIT(ND), 0},
    {"Nl", "Letter_Number", BIT(NL), 0},
    {"No", "Other_Number", BIT(NO), 0},
    {"P", "Punctuation", BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO), 0},
    {"Pc", "Connector_Punctuation", BIT(PC), 0},
    {"Pd", "Dash_Punctuation", BIT(PD), 0},
    {"Ps", "Open_Punctuation", BIT(PS), 0},
    {"Pe", "Close_Punctuation", BIT(PE), 0},
    {"Pi", "Initial_Punctuation", BIT(PI), 0},
    {"Pf", "Final_Punctuation", BIT(PF), 0},
    {"Po", "Other_Punctuation", BIT(PO), 0},
    {"S", "Symbol", BIT(SM) | BIT(SC) | BIT(SK) | BIT(SO), 0},
    {"Sm", "Math_Symbol", BIT(SM), 0},
    {"Sc", "Currency_Symbol", BIT(SC), 0},
    {"Sk", "Modifier_Symbol", BIT(SK), 0},
    {"So", "Other_Symbol", BIT(SO), 0},
    {"Z", "Separator", BIT(ZS) | BIT(ZL) | BIT(ZP), 0},
    {"Zs", "Space_Separator", BIT(ZS), 0},
    {"Cc", "Control", BIT(CC), 0},
    {"Cf", "Format", BIT(CF), 0},
    {"Space", "White_Space", 0, UNICODE_SPACE},
};

void regex_sets_release(struct regex_sets *sets) {
    for (size_t i = 0; i < sets->count; i++) {
        free(sets->sets[i].items);
    }
    free(sets->sets);
    *sets = (struct regex_sets){0};
}

int32_t regex_sets_add(struct regex_sets *sets) {
    if (sets->count == REGEX_SETS_MAX) {
        return -1;
    }
    sets->sets = x_realloc_array(sets->sets, sets->count + 1, sizeof *sets->sets);
    sets->sets[sets->count] = (struct regex_set){0};
    return (int32_t)sets->count++;
}

bool regex_sets_put(struct regex_sets *sets, int32_t place, struct regex_item item) {
    struct regex_set *set = &sets->sets[place];
    if (sets->items == REGEX_ITEMS_MAX) {
        return false;
    }
    sets->items++;
    set->items = x_realloc_array(set->items, set->count + 1, sizeof *set->items);
    set->items[set->count++] = item;
    return true;
}

static struct regex_item class_of(unsigned categories, unsigned flags, bool is_negated) {
    return (struct regex_item){
        .first = 1, .categories = categories, .flags = flags, .is_negated = is_negated, .set = -1};
}

bool regex_item_of_letter(char letter, struct regex_item *ret_item) {
    switch (letter) {
    case 's':
    case 'S':
        *ret_item = class_of(0, UNICODE_SPACE, letter == 'S');
        return true;
    case 'd':
    case 'D':
        *ret_item = class_of(BIT(ND), 0, letter == 'D');
        return true;
    case 'w':
    case 'W':
        *ret_item = class_of(WORDS, 0, letter == 'W');
        return true;
    default:
        return false;
    }
}

/* As names of properties are compared: without spaces, lines and case. */
static bool is_name(const char *name, size_t size, const char *known) {
    size_t at = 0;
    for (size_t i = 0; i < size; i++) {
        if (name[i] == ' ' || name[i] == '_' || name[i] == '-') {
            continue;
        }
        at += known[at] == '_';
        if (!known[at] || (known[at] | 32) != (name[i] | 32)) {
            return false;
        }
        at++;
    }
    return known[at] == 0;
}

bool regex_item_of_name(const char *name, size_t size, struct regex_item *ret_item) {
    bool is_negated = size > 0 && name[0] == '^';
    name += is_negated;
    size -= is_negated;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        if (is_name(name, size, classes[i].name) || is_name(name, size, classes[i].long_name)) {
            *ret_item = class_of(classes[i].categories, classes[i].flags, is_negated);
            return true;
        }
    }
    return false;
}

static bool has_one(const struct regex_sets *sets, const struct regex_set *set, unsigned code);

static bool item_has(const struct regex_sets *sets, const struct regex_item *item, unsigned code) {
    if (item->set >= 0) {
        const struct regex_set *inner = &sets->sets[item->set];
        return has_one(sets, inner, code) != inner->is_negated;
    }
    if (item->first <= item->last) {
        return code >= item->first && code <= item->last;
    }
    bool is_in = (item->flags && unicode_is(unicode_table(), code, item->flags)) ||
                 (item->categories & unicode_category(code));
    return is_in != item->is_negated;
}

static bool has_one(const struct regex_sets *sets, const struct regex_set *set, unsigned code) {
    for (size_t i = 0; i < set->count; i++) {
        if (item_has(sets, &set->items[i], code)) {
            return true;
        }
    }
    return false;
}

/* As Oniguruma does it: cases are folded once, for the outermost set. */
bool regex_set_has_slowly(const struct regex_sets *sets, int32_t place, unsigned code) {
    const struct regex_set *set = &sets->sets[place];
    bool is_in = has_one(sets, set, code);
    if (!is_in && set->ignores_case) {
        unsigned lower = unicode_fold(code);
        is_in = has_one(sets, set, lower) || has_one(sets, set, unicode_upper(lower));
    }
    return is_in != set->is_negated;
}

void regex_set_seal(const struct regex_sets *sets, int32_t place) {
    struct regex_set *set = &sets->sets[place];
    for (unsigned code = 0; code < 128; code++) {
        uint64_t bit = regex_set_has_slowly(sets, place, code);
        set->ascii[code >> 6] |= bit << (code & 63);
    }
}
