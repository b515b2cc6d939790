// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/normalizer.h"

#include "agent/data/text/byte_level.h"
#include "agent/data/text/pattern/precompiled.h"
#include "agent/data/text/setting.h"
#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEPS_MAX = 64,
    CODES_MAX = 32 << 20, /* characters of a run that a form is made of at once */
};

struct step;
/* One step on its way through a text. */
struct stage {
    const struct step *step;
    const struct unicode *unicode;
    struct normalizer_memory *memory;
    const char *data, *end;
    struct passage_text *into;
    bool is_cut;
};
typedef int step_run(struct stage *stage, struct error *err);

struct step {
    step_run *run;
    char *from, *to; /* owned; what is replaced, and by what */
    size_t from_size, to_size;
    struct regex *regex;             /* owned: instead of `from` */
    struct precompiled *precompiled; /* owned */
    bool is_compatible, is_composed; /* the form of normalization */
    bool is_left, is_right;          /* which side is stripped */
    unsigned flags;                  /* of the characters that are left out */
};
struct normalizer {
    const struct unicode *unicode;
    struct step *steps;
    size_t count;
};

/* ---- steps ---------------------------------------------------------------------------------- */

static int put(struct stage *stage, unsigned code, struct error *err) {
    struct passage_text *into = stage->into;
    if (into->capacity - into->size < 4 && passage_text_room(into, 4, err) < 0) {
        return -1;
    }
    into->size += utf8_write(into->data + into->size, code);
    return 0;
}

/* A character that is left out. */
static void skip(struct stage *stage) {
    stage->is_cut = stage->is_cut || stage->into->size == 0;
}

/* Text in the place of other characters; without any they are left out. */
static int put_text(struct stage *stage, const char *data, size_t size, struct error *err) {
    if (size == 0) {
        skip(stage);
    }
    return passage_text_append(stage->into, data, size, err);
}

static int run_clean(struct stage *stage, struct error *err) {
    for (const char *at = stage->data; at < stage->end;) {
        unsigned code = unicode_read(&at);
        bool is_blank = code == '\t' || code == '\n' || code == '\r';
        if (!is_blank && (code == 0xfffd || unicode_is(stage->unicode, code, UNICODE_OTHER))) {
            skip(stage);
        } else if (put(stage, unicode_is(stage->unicode, code, UNICODE_SPACE) ? ' ' : code, err) <
                   0) {
            return -1;
        }
    }
    return 0;
}

/* The blocks that BERT's own tokenizer names; the gap before 0x2b920 is its mistake. */
static bool is_ideograph(unsigned code) {
    return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0x3400 && code <= 0x4dbf) ||
           (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b73f) ||
           (code >= 0x2b740 && code <= 0x2b81f) || (code >= 0x2b920 && code <= 0x2ceaf) ||
           (code >= 0xf900 && code <= 0xfaff) || (code >= 0x2f800 && code <= 0x2fa1f);
}

static int run_ideographs(struct stage *stage, struct error *err) {
    for (const char *at = stage->data; at < stage->end;) {
        unsigned code = unicode_read(&at);
        bool is_apart = is_ideograph(code);
        if ((is_apart && put(stage, ' ', err) < 0) || put(stage, code, err) < 0 ||
            (is_apart && put(stage, ' ', err) < 0)) {
            return -1;
        }
    }
    return 0;
}

static int run_lowercase(struct stage *stage, struct error *err) {
    for (const char *at = stage->data; at < stage->end;) {
        unsigned lower[UNICODE_LOWER_MAX], code = unicode_read(&at);
        size_t count = 1;
        if (code < 0x80) {
            lower[0] = code >= 'A' && code <= 'Z' ? code + 32 : code;
        } else {
            count = unicode_lower(code, lower);
        }
        for (size_t i = 0; i < count; i++) {
            if (put(stage, lower[i], err) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int run_leave_out(struct stage *stage, struct error *err) {
    for (const char *at = stage->data; at < stage->end;) {
        unsigned code = unicode_read(&at);
        if (unicode_is(stage->unicode, code, stage->step->flags)) {
            skip(stage);
        } else if (put(stage, code, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Writes the characters that were collected, in their form. */
static int put_codes(struct stage *stage, struct error *err) {
    struct normalizer_memory *memory = stage->memory;
    size_t count = unicode_arrange(memory->codes, memory->code_count, stage->step->is_composed);
    memory->code_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (put(stage, (unsigned)memory->codes[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* A character may become UNICODE_DECOMPOSED_MAX. */
static int collect(struct stage *stage, unsigned code, struct error *err) {
    struct normalizer_memory *memory = stage->memory;
    if (memory->code_count > CODES_MAX - UNICODE_DECOMPOSED_MAX) {
        return error_set(err, ERROR_EXHAUSTED,
                         "a run of more than %d characters is to be put in a "
                         "form at once",
                         CODES_MAX - UNICODE_DECOMPOSED_MAX);
    }
    if (memory->code_capacity - memory->code_count < UNICODE_DECOMPOSED_MAX) {
        memory->code_capacity = 2 * memory->code_capacity + 256;
        memory->codes =
            x_realloc_array(memory->codes, memory->code_capacity, sizeof *memory->codes);
    }
    memory->code_count +=
        unicode_decompose(code, stage->step->is_compatible, memory->codes + memory->code_count);
    return 0;
}

/* A run of characters that the form may change or join is decomposed, ordered and composed at once;
 * the others end it. The first of two ASCII characters is one of those. */
static int run_form(struct stage *stage, struct error *err) {
    for (const char *at = stage->data; at < stage->end;) {
        bool is_plain =
            (unsigned char)*at < 0x80 && (at + 1 == stage->end || (unsigned char)at[1] < 0x80);
        unsigned code = unicode_read(&at);
        if (!is_plain && !unicode_is(stage->unicode, code, UNICODE_INERT)) {
            if (collect(stage, code, err) < 0) {
                return -1;
            }
        } else if (put_codes(stage, err) < 0 || put(stage, code, err) < 0) {
            return -1;
        }
    }
    return put_codes(stage, err);
}

static bool is_space_at(const struct stage *stage, const char *at) {
    return unicode_is(stage->unicode, unicode_read(&at), UNICODE_SPACE);
}

static int run_strip(struct stage *stage, struct error *err) {
    const char *start = stage->data, *end = stage->end;
    while (stage->step->is_left && start < end && is_space_at(stage, start)) {
        start += unicode_size(*start);
        skip(stage);
    }
    while (stage->step->is_right && end > start) {
        const char *last = end - 1;
        while (last > start && ((unsigned char)*last & 0xc0) == 0x80) {
            last--;
        }
        if (!is_space_at(stage, last)) {
            break;
        }
        end = last;
    }
    return passage_text_append(stage->into, start, (size_t)(end - start), err);
}

static int run_replace(struct stage *stage, struct error *err) {
    const struct step *step = stage->step;
    const char *at = stage->data;
    for (;;) {
        const char *found = memmem(at, (size_t)(stage->end - at), step->from, step->from_size);
        const char *plain = found ? found : stage->end;
        if (passage_text_append(stage->into, at, (size_t)(plain - at), err) < 0) {
            return -1;
        }
        if (!found) {
            return 0;
        }
        if (put_text(stage, step->to, step->to_size, err) < 0) {
            return -1;
        }
        at = found + step->from_size;
    }
}

static int run_replace_regex(struct stage *stage, struct error *err) {
    const struct step *step = stage->step;
    size_t size = (size_t)(stage->end - stage->data), rest = 0;
    struct regex_walk walk = {step->regex, &stage->memory->regex, stage->data, size, 0, SIZE_MAX};
    struct regex_match match;
    int found;
    while ((found = regex_next(&walk, &match, err)) > 0) {
        if (passage_text_append(stage->into, stage->data + rest, match.start - rest, err) < 0 ||
            put_text(stage, step->to, step->to_size, err) < 0) {
            return -1;
        }
        rest = match.end;
    }
    return found < 0 ? -1 : passage_text_append(stage->into, stage->data + rest, size - rest, err);
}

/* What the map has instead of these characters. 1; 0: nothing. */
static int put_mapped(struct stage *stage, const char *data, size_t size, struct error *err) {
    size_t mapped_size = 0;
    const char *mapped = precompiled_find(stage->step->precompiled, data, size, &mapped_size);
    if (!mapped) {
        return 0;
    }
    /* In Hugging Face's, what follows a first character that goes is still the text's first. */
    return passage_text_append(stage->into, mapped, mapped_size, err) < 0 ? -1 : 1;
}

static int run_precompiled(struct stage *stage, struct error *err) {
    enum { WHOLE_BYTES = 6 }; /* a grapheme of fewer is looked for as a whole */
    for (const char *at = stage->data; at < stage->end;) {
        size_t size = unicode_grapheme(at, stage->end);
        const char *end = at + size;
        int done = size < WHOLE_BYTES ? put_mapped(stage, at, size, err) : 0;
        while (done == 0 && at < end) {
            size_t one = unicode_size(*at);
            int mapped = put_mapped(stage, at, one, err);
            if (mapped < 0 || (mapped == 0 && passage_text_append(stage->into, at, one, err) < 0)) {
                return -1;
            }
            at += one;
        }
        if (done < 0) {
            return -1;
        }
        at = end;
    }
    return 0;
}

static int run_prepend(struct stage *stage, struct error *err) {
    size_t size = (size_t)(stage->end - stage->data);
    if (size > 0 &&
        passage_text_append(stage->into, stage->step->to, stage->step->to_size, err) < 0) {
        return -1;
    }
    return passage_text_append(stage->into, stage->data, size, err);
}

static int run_bytes(struct stage *stage, struct error *err) {
    return byte_level_write(stage->into, stage->data, (size_t)(stage->end - stage->data), err);
}

static void step_release(struct step *step) {
    free(step->from);
    free(step->to);
    regex_free(step->regex);
    precompiled_free(step->precompiled);
}

/* ---- settings ------------------------------------------------------------------------------- */

static int add(struct normalizer *normalizer, struct step step, struct error *err) {
    if (normalizer->count == STEPS_MAX) {
        step_release(&step);
        return error_set(err, ERROR_INVALID, "more than %d steps", STEPS_MAX);
    }
    normalizer->steps =
        x_realloc_array(normalizer->steps, normalizer->count + 1, sizeof *normalizer->steps);
    normalizer->steps[normalizer->count++] = step;
    return 0;
}

static int add_bert(struct normalizer *normalizer, const json_t *tree, struct error *err) {
    bool is_cleaned, has_ideographs, is_lower, is_bare;
    if (setting_bool(tree, "clean_text", true, &is_cleaned, err) < 0 ||
        setting_bool(tree, "handle_chinese_chars", true, &has_ideographs, err) < 0 ||
        setting_bool(tree, "lowercase", true, &is_lower, err) < 0 ||
        setting_bool(tree, "strip_accents", is_lower, &is_bare, err) < 0) {
        return -1;
    }
    const struct step steps[] = {
        {.run = is_cleaned ? run_clean : NULL},
        {.run = has_ideographs ? run_ideographs : NULL},
        {.run = is_bare ? run_form : NULL},
        {.run = is_bare ? run_leave_out : NULL, .flags = UNICODE_NONSPACING},
        {.run = is_lower ? run_lowercase : NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (steps[i].run && add(normalizer, steps[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int add_strip(struct normalizer *normalizer, const json_t *tree, struct error *err) {
    struct step step = {.run = run_strip};
    if (setting_bool(tree, "strip_left", true, &step.is_left, err) < 0 ||
        setting_bool(tree, "strip_right", true, &step.is_right, err) < 0) {
        return -1;
    }
    return add(normalizer, step, err);
}

static char *copy(struct setting_text text) {
    char *bytes = x_malloc(text.size + 1);
    memcpy(bytes, text.data, text.size);
    bytes[text.size] = 0;
    return bytes;
}

static int add_replace(struct normalizer *normalizer, const json_t *tree, struct error *err) {
    struct setting_text from, to;
    bool is_regex;
    if (setting_pattern(tree, &from, &is_regex, err) < 0 ||
        setting_needed(tree, "content", &to, err) < 0) {
        return -1;
    }
    struct step step = {.run = is_regex ? run_replace_regex : run_replace,
                        .from_size = from.size,
                        .to_size = to.size};
    if (is_regex && regex_new(from.data, from.size, &step.regex, err) < 0) {
        return error_context(err, "pattern: Regex");
    }
    step.from = copy(from);
    step.to = copy(to);
    return add(normalizer, step, err);
}

static int add_precompiled(struct normalizer *normalizer, const json_t *tree, struct error *err) {
    struct step step = {.run = run_precompiled};
    const char *map = tree_text(tree, "precompiled_charsmap", "");
    return precompiled_new(map, &step.precompiled, err) < 0 ? -1 : add(normalizer, step, err);
}

static int add_prepend(struct normalizer *normalizer, const json_t *tree, struct error *err) {
    struct setting_text text;
    if (setting_needed(tree, "prepend", &text, err) < 0) {
        return -1;
    }
    struct step step = {.run = run_prepend, .to_size = text.size};
    step.to = copy(text);
    return add(normalizer, step, err);
}

static const struct {
    const char *type;
    int (*add)(struct normalizer *normalizer, const json_t *tree, struct error *err);
    struct step step; /* of a type without settings */
} kinds[] = {
    {"BertNormalizer", add_bert, {0}},
    {"NFC", NULL, {.run = run_form, .is_composed = true}},
    {"NFD", NULL, {.run = run_form}},
    {"NFKC", NULL, {.run = run_form, .is_compatible = true, .is_composed = true}},
    {"NFKD", NULL, {.run = run_form, .is_compatible = true}},
    {"Lowercase", NULL, {.run = run_lowercase}},
    {"StripAccents", NULL, {.run = run_leave_out, .flags = UNICODE_MARK}},
    {"Strip", add_strip, {0}},
    {"Replace", add_replace, {0}},
    {"Prepend", add_prepend, {0}},
    {"Precompiled", add_precompiled, {0}},
    {"ByteLevel", NULL, {.run = run_bytes}},
};

static int add_step(void *context, const json_t *tree, struct error *err) {
    struct normalizer *normalizer = context;
    const struct setting_types types = {kinds, ARRAY_LEN(kinds), sizeof kinds[0]};
    int i = setting_find(tree, &types, err);
    if (i < 0) {
        return -1;
    }
    return kinds[i].add ? kinds[i].add(normalizer, tree, err) : add(normalizer, kinds[i].step, err);
}

int normalizer_new(const json_t *tree, const struct unicode *unicode,
                   struct normalizer **ret_normalizer, struct error *err) {
    struct normalizer *normalizer = x_calloc(1, sizeof *normalizer);
    normalizer->unicode = unicode;
    const struct setting_sequence sequence = {"normalizers", add_step, normalizer};
    if (tree && !json_is_null(tree) && setting_each(tree, &sequence, err) < 0) {
        normalizer_free(normalizer);
        return error_context(err, "normalizer");
    }
    *ret_normalizer = normalizer;
    return 0;
}

void normalizer_free(struct normalizer *normalizer) {
    if (normalizer) {
        for (size_t i = 0; i < normalizer->count; i++) {
            step_release(&normalizer->steps[i]);
        }
        free(normalizer->steps);
        free(normalizer);
    }
}

/* ---- running -------------------------------------------------------------------------------- */

void normalizer_memory_release(struct normalizer_memory *memory) {
    passage_text_release(&memory->texts[0]);
    passage_text_release(&memory->texts[1]);
    free(memory->codes);
    regex_memory_release(&memory->regex);
    *memory = (struct normalizer_memory){0};
}

int normalizer_run(const struct normalizer *normalizer, struct normalizer_memory *memory,
                   const char *data, size_t size, struct normalized *ret_text, struct error *err) {
    struct normalized text = {.data = data, .size = size};
    for (size_t i = 0; i < normalizer->count; i++) {
        struct passage_text *into = &memory->texts[i % 2];
        into->size = 0;
        struct stage stage = {.step = &normalizer->steps[i],
                              .unicode = normalizer->unicode,
                              .memory = memory,
                              .data = text.data,
                              .end = text.data + text.size,
                              .into = into,
                              .is_cut = text.is_cut};
        if (stage.step->run(&stage, err) < 0) {
            return error_context(err, "normalizing");
        }
        text = (struct normalized){into->data ? into->data : "", into->size, stage.is_cut};
    }
    *ret_text = text;
    return 0;
}
