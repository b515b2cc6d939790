// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/pattern/regex.h"

#include "agent/data/text/pattern/regex_code.h"

#include <stdlib.h>

/* Where to go on if what was tried last fails. */
struct regex_state {
    size_t step, at;
    size_t least; /* of a run: it may be shortened to this place; else SIZE_MAX */
};

struct matching {
    const struct regex *regex;
    struct regex_memory *memory;
    const char *data;
    size_t size;
};

int regex_new(const char *pattern, size_t size, struct regex **ret_regex, struct error *err) {
    struct regex *regex = x_calloc(1, sizeof *regex);
    if (regex_parse(pattern, size, regex, err) < 0) {
        regex_free(regex);
        return -1;
    }
    *ret_regex = regex;
    return 0;
}

void regex_free(struct regex *regex) {
    if (regex) {
        regex_sets_release(&regex->sets);
        free(regex->code);
        free(regex);
    }
}

void regex_memory_release(struct regex_memory *memory) {
    free(memory->states);
    *memory = (struct regex_memory){0};
}

void regex_memory_begin(struct regex_memory *memory, size_t size) {
    memory->steps = memory->steps_max = REGEX_STEPS_MIN + REGEX_STEPS_BYTE * (int64_t)size;
}

/* 1; -1: there are too many. */
static int push(struct regex_memory *memory, size_t step, size_t at, size_t least) {
    if (memory->count == REGEX_STATES_MAX) {
        return -1;
    }
    if (memory->count == memory->capacity) {
        memory->capacity = 2 * memory->capacity + 64;
        memory->states = x_realloc_array(memory->states, memory->capacity, sizeof *memory->states);
    }
    memory->states[memory->count++] = (struct regex_state){step, at, least};
    return 1;
}

/* Goes back to the last state above `base`. False: there is none. */
static bool pop(const struct matching *matching, size_t base, size_t *ret_step, size_t *ret_at) {
    struct regex_memory *memory = matching->memory;
    if (memory->count == base) {
        return false;
    }
    struct regex_state *state = &memory->states[memory->count - 1];
    *ret_step = state->step;
    if (state->least == SIZE_MAX) {
        *ret_at = state->at;
        memory->count--;
        return true;
    }
    do { /* one character less */
        state->at--;
    } while (((unsigned char)matching->data[state->at] & 0xc0) == 0x80);
    *ret_at = state->at;
    memory->count -= state->at == state->least;
    return true;
}

/* A run from `at`: as far as it goes; each character is a step. 1; 0: it is too short; -1. */
static int run_set(const struct matching *matching, const struct regex_step *step, size_t number,
                   size_t *at) {
    const struct regex_sets *sets = &matching->regex->sets;
    size_t here = *at, least = *at;
    int32_t count = 0;
    while (count < step->b && here < matching->size) {
        const char *next = matching->data + here;
        if (!regex_set_has(sets, step->a, unicode_read(&next))) {
            break;
        }
        here = (size_t)(next - matching->data);
        count++;
        least = count == step->min ? here : least;
    }
    matching->memory->steps -= count;
    if (count < step->min) {
        return 0;
    }
    *at = here;
    return here > least ? push(matching->memory, number + 1, here, least) : 1;
}

static bool is_line_end(const struct matching *matching, size_t at) {
    return at >= matching->size || matching->data[at] == '\n';
}

static bool take_one(const struct matching *matching, const struct regex_step *step, size_t *at) {
    if (*at >= matching->size) {
        return false;
    }
    const char *next = matching->data + *at;
    unsigned code = unicode_read(&next);
    bool is_it = step->op == REGEX_SET      ? regex_set_has(&matching->regex->sets, step->a, code)
                 : step->op == REGEX_FOLDED ? unicode_fold(code) == (unsigned)step->a
                                            : code == (unsigned)step->a;
    *at = is_it ? (size_t)(next - matching->data) : *at;
    return is_it;
}

static bool holds(const struct matching *matching, enum regex_op op, size_t at) {
    switch (op) {
    case REGEX_LINE_START:
        return at == 0 || (at < matching->size && matching->data[at - 1] == '\n');
    case REGEX_LINE_END:
        return is_line_end(matching, at);
    case REGEX_TEXT_START:
        return at == 0;
    default:
        return at >= matching->size;
    }
}

static int run(const struct matching *matching, size_t step, size_t *at);

/* Runs the program within a step: 1 or 0 as that step holds; -1. Moves what is atomic. */
static int run_within(const struct matching *matching, size_t number, size_t *at) {
    const struct regex_step *step = &matching->regex->code[number];
    size_t here = *at, base = matching->memory->count;
    int result = run(matching, number + 1, &here);
    matching->memory->count = base;
    if (result < 0 || step->op == REGEX_NOT_AHEAD) {
        return result < 0 ? -1 : !result;
    }
    *at = result && step->op == REGEX_ATOMIC ? here : *at;
    return result;
}

/* One step that has no choice: 1, and the next step in *number; 0: it fails; -1. */
static int advance(const struct matching *matching, size_t *number, size_t *at) {
    const struct regex_step *step = &matching->regex->code[*number];
    int result = 1;
    switch (step->op) {
    case REGEX_CHARACTER:
    case REGEX_FOLDED:
    case REGEX_SET:
        result = take_one(matching, step, at);
        break;
    case REGEX_RUN:
        result = run_set(matching, step, *number, at);
        break;
    case REGEX_JUMP:
        *number = (size_t)step->a;
        return 1;
    case REGEX_SPLIT:
        *number = (size_t)step->a;
        return push(matching->memory, (size_t)step->b, *at, SIZE_MAX);
    case REGEX_AHEAD:
    case REGEX_NOT_AHEAD:
    case REGEX_ATOMIC:
        result = run_within(matching, *number, at);
        *number = (size_t)step->a;
        return result;
    default:
        result = holds(matching, step->op, *at);
        break;
    }
    (*number)++;
    return result;
}

/* From that step to REGEX_MATCH: 1, and *at behind the match; 0: there is none; -1: too many
 * steps or states. */
static int run(const struct matching *matching, size_t number, size_t *at) {
    size_t base = matching->memory->count;
    while (matching->regex->code[number].op != REGEX_MATCH) {
        if (--matching->memory->steps < 0) {
            return -1;
        }
        int result = advance(matching, &number, at);
        if (result < 0 || (result == 0 && !pop(matching, base, &number, at))) {
            return result;
        }
    }
    return 1;
}

static int too_much(const struct regex_memory *memory, struct error *err) {
    return memory->steps < 0
               ? error_set(err, ERROR_EXHAUSTED,
                           "the pattern takes more than %lld steps for this text",
                           (long long)memory->steps_max)
               : error_set(err, ERROR_EXHAUSTED,
                           "the pattern has more than %d places to go back to in this text",
                           REGEX_STATES_MAX);
}

/* The first match that begins at walk->at or later. */
static int find(const struct regex_walk *walk, struct regex_match *ret_match, struct error *err) {
    const struct matching matching = {walk->regex, walk->memory, walk->data, walk->size};
    for (size_t start = walk->at; start <= walk->size;) {
        size_t at = start;
        walk->memory->count = 0;
        int result = run(&matching, 0, &at);
        if (result < 0) {
            return too_much(walk->memory, err);
        }
        if (result) {
            *ret_match = (struct regex_match){start, at};
            return 1;
        }
        start += start < walk->size ? unicode_size(walk->data[start]) : 1;
    }
    return 0;
}

int regex_next(struct regex_walk *walk, struct regex_match *ret_match, struct error *err) {
    while (walk->at <= walk->size) {
        int found = find(walk, ret_match, err);
        if (found <= 0) {
            return found;
        }
        if (ret_match->end > ret_match->start || ret_match->end != walk->last) {
            walk->at = walk->last = ret_match->end;
            return 1;
        }
        walk->at += walk->at < walk->size ? unicode_size(walk->data[walk->at]) : 1;
    }
    return 0;
}
