// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/pre_tokenizer.h"

#include "agent/data/text/byte_level.h"
#include "agent/data/text/setting.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 64 };

/* What becomes of the places where a text is cut, in the order of behavior_names. */
enum behavior { REMOVED, ISOLATED, MERGED_WITH_PREVIOUS, MERGED_WITH_NEXT, CONTIGUOUS };
static const char *const behavior_names[] = {"Removed",        "Isolated",   "MergedWithPrevious",
                                             "MergedWithNext", "Contiguous", NULL};

/* When a text gets the character that stands for a space before it, in the order of scheme_names.
 */
enum scheme { SCHEME_ALWAYS, SCHEME_FIRST, SCHEME_NEVER };
static const char *const scheme_names[] = {"always", "first", "never", NULL};

struct step;
/* One step at one piece. */
struct cut {
    const struct step *step;
    const struct unicode *unicode;
    const char *data; /* the text that the piece is of */
    struct passage_piece piece;
    struct passage_text *into;  /* of a step that changes the text */
    struct passage_text *plain; /* memory for one piece */
    struct regex_memory *regex;
    struct passage_pieces *pieces; /* the result */
};
typedef int step_cut(struct cut *cut, struct error *err);

struct step {
    step_cut *cut;
    bool is_change; /* writes another text */
    unsigned flags; /* of the characters where it cuts */
    int behavior, scheme;
    bool is_inverted, is_split, is_prefixed;
    char *pattern; /* owned */
    size_t pattern_size;
    struct regex *regex; /* owned; or NULL */
};
struct pre_tokenizer {
    const struct unicode *unicode;
    struct step *steps;
    size_t count;
};

/* ---- cutting -------------------------------------------------------------------------------- */

/* Adds a part of the piece. */
static void add_part(const struct cut *cut, size_t start, size_t end) {
    passage_add(cut->pieces, (struct passage_piece){.start = (uint32_t)start,
                                                    .end = (uint32_t)end,
                                                    .token = -1,
                                                    .is_first = cut->piece.is_first &&
                                                                start == cut->piece.start});
}

/* A text in parts that are matches of a pattern, or are not; from left to right. */
struct spans {
    const struct cut *cut;
    size_t start, end; /* of the part that is held back: a later one may join it */
    bool is_match;     /* it is one */
    bool has_part;
    bool was_match; /* the last span was one */
};

static void flush(struct spans *spans) {
    if (spans->has_part) {
        add_part(spans->cut, spans->start, spans->end);
    }
    spans->has_part = false;
}

static void hold(struct spans *spans, size_t start, size_t end, bool is_match) {
    flush(spans);
    *spans = (struct spans){spans->cut, start, end, is_match, true, is_match};
}

/* Matches that follow each other: only the first one goes to the part before it. */
static void add_before(struct spans *spans, size_t start, size_t end, bool is_match) {
    if (is_match && !spans->was_match && spans->has_part) {
        spans->end = end;
        spans->was_match = true;
    } else {
        hold(spans, start, end, is_match);
    }
}

static void add_span(struct spans *spans, size_t start, size_t end, bool is_match) {
    if (start == end) {
        return;
    }
    bool is_joined = spans->has_part && spans->is_match;
    switch ((enum behavior)spans->cut->step->behavior) {
    case REMOVED:
        if (!is_match) {
            add_part(spans->cut, start, end);
        }
        break;
    case ISOLATED:
        add_part(spans->cut, start, end);
        break;
    case MERGED_WITH_PREVIOUS:
        add_before(spans, start, end, is_match);
        break;
    case MERGED_WITH_NEXT: /* only the last of several matches goes to the part behind it */
        if (is_joined && !is_match) {
            spans->end = end;
            spans->is_match = false;
        } else {
            hold(spans, start, end, is_match);
        }
        break;
    case CONTIGUOUS:
        if (spans->has_part && spans->is_match == is_match) {
            spans->end = end;
        } else {
            hold(spans, start, end, is_match);
        }
        break;
    }
}

/* Each character of the step's classes is a match. */
static int cut_classes(struct cut *cut, struct error *err UNUSED) {
    struct spans spans = {.cut = cut};
    size_t rest = cut->piece.start;
    const char *end = cut->data + cut->piece.end;
    for (const char *at = cut->data + rest; at < end;) {
        size_t start = (size_t)(at - cut->data);
        if (unicode_is(cut->unicode, unicode_read(&at), cut->step->flags)) {
            add_span(&spans, rest, start, false);
            rest = (size_t)(at - cut->data);
            add_span(&spans, start, rest, true);
        }
    }
    add_span(&spans, rest, cut->piece.end, false);
    flush(&spans);
    return 0;
}

/* Words: runs of letters, marks and digits, and runs of what is neither that nor a space. */
static int cut_words(struct cut *cut, struct error *err UNUSED) {
    size_t start = cut->piece.start;
    unsigned kind = UNICODE_SPACE;
    const char *end = cut->data + cut->piece.end;
    for (const char *at = cut->data + start; at < end;) {
        size_t here = (size_t)(at - cut->data);
        unsigned code = unicode_read(&at);
        unsigned next = unicode_is(cut->unicode, code, UNICODE_WORD)    ? UNICODE_WORD
                        : unicode_is(cut->unicode, code, UNICODE_SPACE) ? UNICODE_SPACE
                                                                        : 0;
        if (next != kind) {
            if (kind != UNICODE_SPACE) {
                add_part(cut, start, here);
            }
            start = here;
            kind = next;
        }
    }
    if (kind != UNICODE_SPACE) {
        add_part(cut, start, cut->piece.end);
    }
    return 0;
}

/* BERT's: spaces are left out, and each punctuation mark stands alone. */
static int cut_bert(struct cut *cut, struct error *err UNUSED) {
    size_t start = cut->piece.start;
    const char *end = cut->data + cut->piece.end;
    for (const char *at = cut->data + start; at < end;) {
        size_t here = (size_t)(at - cut->data);
        unsigned code = unicode_read(&at);
        if (unicode_is(cut->unicode, code, UNICODE_SPACE | UNICODE_PUNCTUATION)) {
            add_part(cut, start, here);
            start = (size_t)(at - cut->data);
            if (!unicode_is(cut->unicode, code, UNICODE_SPACE)) {
                add_part(cut, here, start);
            }
        }
    }
    add_part(cut, start, cut->piece.end);
    return 0;
}

static int cut_pattern(struct cut *cut, struct error *err UNUSED) {
    const struct step *step = cut->step;
    struct spans spans = {.cut = cut};
    size_t rest = cut->piece.start, end = cut->piece.end;
    for (;;) {
        const char *found = memmem(cut->data + rest, end - rest, step->pattern, step->pattern_size);
        if (!found) {
            break;
        }
        size_t start = (size_t)(found - cut->data);
        add_span(&spans, rest, start, step->is_inverted);
        rest = start + step->pattern_size;
        add_span(&spans, start, rest, !step->is_inverted);
    }
    add_span(&spans, rest, end, step->is_inverted);
    flush(&spans);
    return 0;
}

static int cut_regex(struct cut *cut, struct error *err) {
    const struct step *step = cut->step;
    struct spans spans = {.cut = cut};
    const char *piece = cut->data + cut->piece.start;
    size_t start = cut->piece.start, size = cut->piece.end - start, rest = 0;
    struct regex_walk walk = {step->regex, cut->regex, piece, size, 0, SIZE_MAX};
    struct regex_match match;
    int found;
    while ((found = regex_next(&walk, &match, err)) > 0) {
        add_span(&spans, start + rest, start + match.start, step->is_inverted);
        add_span(&spans, start + match.start, start + match.end, !step->is_inverted);
        rest = match.end;
    }
    add_span(&spans, start + rest, start + size, step->is_inverted);
    flush(&spans);
    return found;
}

/* ---- a character that stands for a space ------------------------------------------------------
 */

/* Writes the piece with the character for each space, and where it may begin. */
static int put_spaces(struct cut *cut, struct error *err) {
    const struct step *step = cut->step;
    const char *at = cut->data + cut->piece.start, *end = cut->data + cut->piece.end;
    size_t start = cut->into->size;
    bool is_wanted =
        step->scheme == SCHEME_ALWAYS || (step->scheme == SCHEME_FIRST && cut->piece.is_first);
    bool is_there = *at == ' ' || ((size_t)(end - at) >= step->pattern_size &&
                                   memcmp(at, step->pattern, step->pattern_size) == 0);
    if (is_wanted && !is_there &&
        passage_text_append(cut->into, step->pattern, step->pattern_size, err) < 0) {
        return -1;
    }
    while (at < end) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *plain = space ? space : end;
        if (passage_text_append(cut->into, at, (size_t)(plain - at), err) < 0 ||
            (space && passage_text_append(cut->into, step->pattern, step->pattern_size, err) < 0)) {
            return -1;
        }
        at = space ? space + 1 : end;
    }
    cut->piece.start = (uint32_t)start;
    cut->piece.end = (uint32_t)cut->into->size;
    return 0;
}

static int cut_metaspace(struct cut *cut, struct error *err) {
    if (put_spaces(cut, err) < 0) {
        return -1;
    }
    if (!cut->step->is_split) {
        passage_add(cut->pieces, cut->piece);
        return 0;
    }
    struct cut written = *cut;
    written.data = cut->into->data;
    return cut_pattern(&written, err);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int cut_bytes(struct cut *cut, struct error *err) {
    const char *at = cut->data + cut->piece.start, *end = cut->data + cut->piece.end;
    const struct step *step = cut->step;
    const char *prefix = step->is_prefixed && *at != ' ' ? " " : "";
    struct passage_text *plain = cut->plain;
    plain->size = 0;
    if (passage_text_append(plain, prefix, strlen(prefix), err) < 0 ||
        passage_text_append(plain, at, (size_t)(end - at), err) < 0) {
        return -1;
    }
    struct passage_piece piece = cut->piece;
    end = plain->data + plain->size;
    for (at = plain->data; at < end; piece.is_first = false) {
        size_t size = step->is_split ? byte_level_word(cut->unicode, at, end) : (size_t)(end - at);
        piece.start = (uint32_t)cut->into->size;
        if (byte_level_write(cut->into, at, size, err) < 0) {
            return -1;
        }
        piece.end = (uint32_t)cut->into->size;
        passage_add(cut->pieces, piece);
        at += size;
    }
    return 0;
}

/* ---- settings ------------------------------------------------------------------------------- */

static int add(struct pre_tokenizer *pre_tokenizer, struct step step, struct error *err) {
    if (pre_tokenizer->count == STEPS_MAX) {
        free(step.pattern);
        regex_free(step.regex);
        return error_set(err, ERROR_INVALID, "more than %d steps", STEPS_MAX);
    }
    pre_tokenizer->steps = x_realloc_array(pre_tokenizer->steps, pre_tokenizer->count + 1,
                                           sizeof *pre_tokenizer->steps);
    pre_tokenizer->steps[pre_tokenizer->count++] = step;
    return 0;
}

static int add_punctuation(struct pre_tokenizer *pre_tokenizer, const json_t *tree,
                           struct error *err) {
    struct step step = {.cut = cut_classes, .flags = UNICODE_PUNCTUATION};
    if (setting_choice(tree, "behavior", behavior_names, ISOLATED, &step.behavior, err) < 0) {
        return -1;
    }
    return add(pre_tokenizer, step, err);
}

static int add_digits(struct pre_tokenizer *pre_tokenizer, const json_t *tree, struct error *err) {
    struct step step = {.cut = cut_classes, .flags = UNICODE_NUMERIC};
    bool is_individual;
    if (setting_bool(tree, "individual_digits", false, &is_individual, err) < 0) {
        return -1;
    }
    step.behavior = is_individual ? ISOLATED : CONTIGUOUS;
    return add(pre_tokenizer, step, err);
}

static void set_pattern(struct step *step, struct setting_text text) {
    step->pattern = x_malloc(text.size + 1);
    memcpy(step->pattern, text.data, text.size);
    step->pattern_size = text.size;
}

static int add_split(struct pre_tokenizer *pre_tokenizer, const json_t *tree, struct error *err) {
    struct step step = {.cut = cut_pattern};
    struct setting_text text;
    bool is_regex;
    if (setting_choice(tree, "behavior", behavior_names, -1, &step.behavior, err) < 0 ||
        setting_bool(tree, "invert", false, &step.is_inverted, err) < 0 ||
        setting_pattern(tree, &text, &is_regex, err) < 0) {
        return -1;
    }
    if (is_regex && regex_new(text.data, text.size, &step.regex, err) < 0) {
        return error_context(err, "pattern: Regex");
    }
    step.cut = is_regex ? cut_regex : cut_pattern;
    set_pattern(&step, text);
    return add(pre_tokenizer, step, err);
}

static int one_character(const json_t *tree, const char *name, struct setting_text *ret_text,
                         struct error *err) {
    if (setting_needed(tree, name, ret_text, err) < 0) {
        return -1;
    }
    if (ret_text->size == 0 || unicode_size(*ret_text->data) != ret_text->size) {
        return error_set(err, ERROR_INVALID, "%s: expected one character", name);
    }
    return 0;
}

static int add_delimiter(struct pre_tokenizer *pre_tokenizer, const json_t *tree,
                         struct error *err) {
    struct step step = {.cut = cut_pattern, .behavior = REMOVED};
    struct setting_text text;
    if (one_character(tree, "delimiter", &text, err) < 0) {
        return -1;
    }
    set_pattern(&step, text);
    return add(pre_tokenizer, step, err);
}

static int add_metaspace(struct pre_tokenizer *pre_tokenizer, const json_t *tree,
                         struct error *err) {
    struct step step = {.cut = cut_metaspace, .is_change = true, .behavior = MERGED_WITH_NEXT};
    struct setting_text text;
    bool is_prefixed; /* what older files say instead of prepend_scheme */
    if (one_character(tree, "replacement", &text, err) < 0 ||
        setting_bool(tree, "add_prefix_space", true, &is_prefixed, err) < 0 ||
        setting_bool(tree, "split", true, &step.is_split, err) < 0 ||
        setting_choice(tree, "prepend_scheme", scheme_names,
                       is_prefixed ? SCHEME_ALWAYS : SCHEME_NEVER, &step.scheme, err) < 0) {
        return -1;
    }
    set_pattern(&step, text);
    return add(pre_tokenizer, step, err);
}

static int add_byte_level(struct pre_tokenizer *pre_tokenizer, const json_t *tree,
                          struct error *err) {
    struct step step = {.cut = cut_bytes, .is_change = true};
    if (setting_bool(tree, "add_prefix_space", true, &step.is_prefixed, err) < 0 ||
        setting_bool(tree, "use_regex", true, &step.is_split, err) < 0) {
        return -1;
    }
    return add(pre_tokenizer, step, err);
}

static const struct {
    const char *type;
    int (*add)(struct pre_tokenizer *pre_tokenizer, const json_t *tree, struct error *err);
    struct step step; /* of a type without settings */
} kinds[] = {
    {"BertPreTokenizer", NULL, {.cut = cut_bert}},
    {"Whitespace", NULL, {.cut = cut_words}},
    {"WhitespaceSplit", NULL, {.cut = cut_classes, .flags = UNICODE_SPACE, .behavior = REMOVED}},
    {"CharDelimiterSplit", add_delimiter, {0}},
    {"Punctuation", add_punctuation, {0}},
    {"Digits", add_digits, {0}},
    {"Split", add_split, {0}},
    {"Metaspace", add_metaspace, {0}},
    {"ByteLevel", add_byte_level, {0}},
};

static int add_step(void *context, const json_t *tree, struct error *err) {
    struct pre_tokenizer *pre_tokenizer = context;
    const struct setting_types types = {kinds, ARRAY_LEN(kinds), sizeof kinds[0]};
    int i = setting_find(tree, &types, err);
    if (i < 0) {
        return -1;
    }
    return kinds[i].add ? kinds[i].add(pre_tokenizer, tree, err)
                        : add(pre_tokenizer, kinds[i].step, err);
}

int pre_tokenizer_new(const json_t *tree, const struct unicode *unicode,
                      struct pre_tokenizer **ret_pre_tokenizer, struct error *err) {
    struct pre_tokenizer *pre_tokenizer = x_calloc(1, sizeof *pre_tokenizer);
    pre_tokenizer->unicode = unicode;
    const struct setting_sequence sequence = {"pretokenizers", add_step, pre_tokenizer};
    if (tree && !json_is_null(tree) && setting_each(tree, &sequence, err) < 0) {
        pre_tokenizer_free(pre_tokenizer);
        return error_context(err, "pre_tokenizer");
    }
    *ret_pre_tokenizer = pre_tokenizer;
    return 0;
}

void pre_tokenizer_free(struct pre_tokenizer *pre_tokenizer) {
    if (pre_tokenizer) {
        for (size_t i = 0; i < pre_tokenizer->count; i++) {
            free(pre_tokenizer->steps[i].pattern);
            regex_free(pre_tokenizer->steps[i].regex);
        }
        free(pre_tokenizer->steps);
        free(pre_tokenizer);
    }
}

/* ---- running -------------------------------------------------------------------------------- */

static int run_step(const struct step *step, const struct unicode *unicode, struct passage *passage,
                    struct error *err) {
    passage->other_pieces.count = 0;
    passage->other_text.size = 0;
    struct cut cut = {.step = step,
                      .unicode = unicode,
                      .data = passage->text.data,
                      .into = &passage->other_text,
                      .plain = &passage->plain,
                      .regex = &passage->regex,
                      .pieces = &passage->other_pieces};
    for (size_t i = 0; i < passage->pieces.count; i++) {
        cut.piece = passage->pieces.items[i];
        if (cut.piece.token >= 0) {
            passage_add(cut.pieces, cut.piece);
        } else if (step->cut(&cut, err) < 0) {
            return -1;
        }
    }
    struct passage_pieces pieces = passage->pieces;
    passage->pieces = passage->other_pieces;
    passage->other_pieces = pieces;
    if (step->is_change) {
        struct passage_text text = passage->text;
        passage->text = passage->other_text;
        passage->other_text = text;
    }
    return 0;
}

int pre_tokenizer_run(const struct pre_tokenizer *pre_tokenizer, struct passage *passage,
                      struct error *err) {
    regex_memory_begin(&passage->regex, passage->text.size);
    for (size_t i = 0; i < pre_tokenizer->count; i++) {
        if (run_step(&pre_tokenizer->steps[i], pre_tokenizer->unicode, passage, err) < 0) {
            return error_context(err, "cutting into words");
        }
    }
    return 0;
}
