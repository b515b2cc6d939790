// SPDX-License-Identifier: Apache-2.0
/* tokenizer.c and what it is made of: small tokenizer files, and the ids of texts. What Hugging
 * Face's own library makes of drawn ones: tests/e2e/engine/test_tokenizers.sh. */
#include "agent/data/text/tokenizer.h"

#include "lib/buffer.h"
#include "tests/test.h"

#include <stdlib.h>

#define BERT                                                                                       \
    "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"              \
    "\"lowercase\":true}"
#define WORDS "{\"type\":\"BertPreTokenizer\"}"
#define ENDS "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]}"
#define ADDED "[{\"id\":1,\"content\":\"[UNK]\",\"normalized\":false}]"
#define MODEL                                                                                      \
    "{\"type\":\"WordPiece\",\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,"          \
    "\"cafe\":4,\"un\":5,\"##able\":6,\"##a\":7,\"!\":8,\"\\u4e00\":9,\"i\":10,\"unable\":11}}"

struct file {
    const char *normalizer, *words, *ends, *added, *model,
        *more; /* NULL: those above, and no more */
};

static char *json_of(const struct file *file) {
    return x_printf("{\"normalizer\":%s,\"pre_tokenizer\":%s,\"post_processor\":%s,"
                    "\"added_tokens\":%s,\"model\":%s%s}",
                    file->normalizer ? file->normalizer : BERT, file->words ? file->words : WORDS,
                    file->ends ? file->ends : ENDS, file->added ? file->added : ADDED,
                    file->model ? file->model : MODEL, file->more ? file->more : "");
}

/* "2 4 3", "2 4 3 | 0 0 0" with types, or the error. The result is valid until the next call. */
static const char *encode(const struct file *file, struct tokenizer_input input, bool has_types) {
    static char said[1024];
    struct error err = {0};
    AUTO(text_freep) char *json = json_of(file);
    AUTO(tokenizer_freep) struct tokenizer *tokenizer = NULL;
    AUTO(tokenizer_memory_freep) struct tokenizer_memory *memory = tokenizer_memory_new();
    struct tokenizer_tokens tokens;
    if (tokenizer_parse(json, strlen(json), &tokenizer, &err) < 0 ||
        tokenizer_encode(tokenizer, memory, &input, &tokens, &err) < 0) {
        snprintf(said, sizeof said, "%s", err.text);
        return said;
    }
    size_t at = 0;
    for (size_t i = 0; i < tokens.count; i++) {
        at += (size_t)snprintf(said + at, sizeof said - at, "%s%d%s", i ? " " : "", tokens.ids[i],
                               tokens.mask[i] ? "" : "-");
    }
    at += (size_t)snprintf(said + at, sizeof said - at, "%s", has_types ? " |" : "");
    for (size_t i = 0; has_types && i < tokens.count; i++) {
        at += (size_t)snprintf(said + at, sizeof said - at, " %d", tokens.types[i]);
    }
    return said;
}

static const char *ids(const struct file *file, const char *text) {
    return encode(file, (struct tokenizer_input){.text = text, .size = strlen(text)}, false);
}

static const char *pair(const struct file *file, const char *text, const char *second) {
    return encode(
        file,
        (struct tokenizer_input){
            .text = text, .size = strlen(text), .second = second, .second_size = strlen(second)},
        true);
}

static void words_become_their_longest_tokens(void) {
    static const struct file bert = {0};
    CHECK_STR(ids(&bert, "Cafe!"), "2 4 8 3");
    CHECK_STR(ids(&bert, "caf\u00e9 unable una"), "2 4 11 5 7 3");
    CHECK_STR(ids(&bert, "unables cafe"), "2 1 4 3"); /* a word that cannot be cut whole */
    CHECK_STR(ids(&bert, "cafe\u4e00i\u4e01"), "2 4 9 10 1 3");
    CHECK_STR(ids(&bert, "\u0130"), "2 10 3"); /* two characters in lower case; the mark goes */
    CHECK_STR(ids(&bert, "[UNK]cafe[UNK"), "2 1 4 1 1 3");
    CHECK_STR(ids(&bert, ""), "2 3");
    const char nul[] = "ca\0fe\x01";
    CHECK_STR(encode(&bert, (struct tokenizer_input){.text = nul, .size = 6}, false), "2 4 3");
    CHECK_STR(ids(&bert, "cafe \xff"), "the text is not UTF-8: byte 5");
}

static void a_long_word_is_unknown(void) {
    static const struct file five = {
        .model = "{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"max_input_chars_per_word\":5,"
                 "\"continuing_subword_prefix\":\"\",\"vocab\":{\"?\":0,\"\u00e9\":1}}",
        .normalizer = "null",
        .added = "null"};
    CHECK_STR(ids(&five, "\u00e9\u00e9\u00e9\u00e9\u00e9"), "2 1 1 1 1 1 3");
    CHECK_STR(ids(&five, "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"), "2 0 3");
}

#define PAIRS(more)                                                                                \
    "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"aba\":3,\"ba\":4,\"?\":5,\"<0xC3>\":" \
    "6,"                                                                                           \
    "\"<0xA9>\":7,\"b/\":8,\"\u0120\":9,\"abab\":10}," more "}"

static void pairs_are_merged_by_rank(void) {
    static const struct {
        const char *model, *text, *wanted;
    } rows[] = {
        {PAIRS("\"merges\":[[\"a\",\"b\"],\"ab a\"]"), "aba", "3"},
        {PAIRS("\"merges\":[[\"b\",\"a\"],[\"a\",\"b\"]]"), "aba", "0 4"},
        {PAIRS("\"merges\":[[\"a\",\"b\"]]"), "ababa", "2 2 0"},
        {PAIRS("\"merges\":[[\"a\",\"b\"]],\"ignore_merges\":true"), "abab", "10"},
        {PAIRS("\"merges\":[]"), "a\u00e9b", "0 1"}, /* unknown, and no token for that */
        {PAIRS("\"merges\":[],\"unk_token\":\"?\""), "\u00e9\u00e8b", "5 5 1"},
        {PAIRS("\"merges\":[],\"unk_token\":\"?\",\"fuse_unk\":true"), "\u00e9\u00e8b", "5 1"},
        {PAIRS("\"merges\":[],\"byte_fallback\":true"), "\u00e9b\u00e8", "6 7 1"},
        {PAIRS("\"merges\":[],\"end_of_word_suffix\":\"/\""), "bb", "1 8"},
        {PAIRS("\"merges\":[[\"a\",\"c\"]]"), "a",
         "model: merges[0]: its tokens, or the merged one, are not in the vocabulary"},
        {PAIRS("\"merges\":[\"a b a\"]"), "a",
         "model: merges[0]: expected [\"A\", \"B\"] or \"A B\""},
        {PAIRS("\"merges\":[],\"dropout\":0.1"), "a",
         "model: dropout is not supported: it makes tokens random"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct file file = {.model = rows[i].model,
                                  .words = "null",
                                  .ends = "null",
                                  .normalizer = "null",
                                  .added = "null"};
        CHECK_STR(ids(&file, rows[i].text), rows[i].wanted);
    }
}

static void words_of_bytes_are_gpt2s(void) {
    static const struct {
        const char *words, *text, *wanted;
    } rows[] = {
        {"{\"type\":\"ByteLevel\",\"add_prefix_space\":false}", "a  b", "0 9 9 1"},
        {"{\"type\":\"ByteLevel\",\"add_prefix_space\":true}", "ab a", "9 2 9 0"},
        {"{\"type\":\"ByteLevel\",\"add_prefix_space\":false}", "a1b", "0 5 1"},
        {"{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}", "1!", "5"},
        {"{\"type\":\"ByteLevel\",\"add_prefix_space\":false}", "1!", "5 5"},
        {"{\"type\":\"ByteLevel\",\"add_prefix_space\":false}", "\u00e9", "5"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct file file = {
            .model = PAIRS("\"merges\":[\"a b\"],\"unk_token\":\"?\",\"fuse_unk\":true"),
            .words = rows[i].words,
            .ends = "null",
            .normalizer = "null",
            .added = "null"};
        CHECK_STR(ids(&file, rows[i].text), rows[i].wanted);
    }
}

#define SCORES                                                                                     \
    "{\"type\":\"Unigram\",\"vocab\":[[\"?\",0],[\"a\",-2],[\"b\",-2],[\"ab\",-3],[\"ba\",-2.5],"  \
    "[\"<0xC3>\",-9],[\"<0xA9>\",-9]],"

static void scores_are_summed(void) {
    static const struct {
        const char *model, *text, *wanted;
    } rows[] = {
        {SCORES "\"unk_id\":0}", "aba", "1 4"}, /* -4.5, where ab and a have -5 */
        {SCORES "\"unk_id\":0}", "ab", "3"},
        {SCORES "\"unk_id\":0}", "a\u00e9\u00e8b", "1 0 2"}, /* unknown ones are one */
        {SCORES "\"unk_id\":0,\"byte_fallback\":true}", "a\u00e9b", "1 5 6 2"},
        {SCORES "\"unk_id\":0,\"byte_fallback\":true}", "a\u00e8b", "1 0 2"},
        {SCORES "\"unk_id\":null}", "b", "2"},
        {SCORES "\"unk_id\":null}", "\u00e9",
         "no token has a character of the text, and the model's unk_id is null"},
        {SCORES "\"unk_id\":7}", "b", "model: unk_id: expected a whole number of 0 to 6"},
        {"{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}", "a",
         "model: vocab[0]: expected [TOKEN, SCORE]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct file file = {.model = rows[i].model,
                                  .words = "null",
                                  .ends = "null",
                                  .normalizer = "null",
                                  .added = "null"};
        CHECK_STR(ids(&file, rows[i].text), rows[i].wanted);
    }
}

static void two_texts_have_two_types(void) {
    static const struct file bert = {0}, bare = {.ends = "null"},
                             roberta = {.ends =
                                            "{\"type\":\"RobertaProcessing\",\"sep\":[\"[SEP]\","
                                            "3],\"cls\":[\"[CLS]\",2]}"};
    static const struct file turned = {
        .ends = "{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_"
                "id\":4}}],\"pair\":[{\"Sequence\":{\"id\":\"B\",\"type_id\":2}},{\"SpecialToken\":"
                "{\"id\":\"x\",\"type_id\":5}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
                "\"special_tokens\":{\"x\":{\"id\":\"x\",\"ids\":[3,2]}}}"};
    CHECK_STR(pair(&bert, "cafe i", "!"), "2 4 10 3 8 3 | 0 0 0 0 1 1");
    CHECK_STR(pair(&roberta, "cafe i", "!"), "2 4 10 3 3 8 3 | 0 0 0 0 0 0 0");
    CHECK_STR(pair(&bare, "cafe i", "!"), "4 10 8 | 0 0 1");
    CHECK_STR(pair(&turned, "cafe i", "!"), "8 3 2 4 10 | 2 5 5 0 0");
    CHECK_STR(encode(&bert,
                     (struct tokenizer_input){
                         .text = "i", .size = 1, .second = "!", .second_size = 1, .is_bare = true},
                     true),
              "10 8 | 0 1");
}

static void added_tokens_take_their_spaces(void) {
    static const struct file file = {
        .added = "[{\"id\":12,\"content\":\"<x>\",\"normalized\":false,\"lstrip\":true,\"rstrip\":"
                 "true},{\"id\":13,\"content\":\"I\",\"normalized\":true,\"single_word\":true},"
                 "{\"id\":14,\"content\":\"<x><y>\",\"normalized\":false}]",
        .words = "null"};
    CHECK_STR(ids(&file, "cafe  <x> \n!"), "2 4 12 8 3");
    CHECK_STR(ids(&file, "<x><y>cafe"), "2 14 4 3"); /* the longest */
    CHECK_STR(ids(&file, "<x>I"), "2 12 13 3");
    CHECK_STR(ids(&file, "<x>i"), "2 12 13 3"); /* normalized as the text is */
    CHECK_STR(ids(&file, "<x>ii"), "2 12 1 3");
    static const struct file other = {.added = "[{\"id\":13,\"content\":\"<x>\"}]"};
    CHECK_STR(ids(&other, ""), "added_tokens: [0]: id: expected 12: the model's for this token, or "
                               "the next one behind its vocabulary");
}

static void rows_are_cut_and_filled(void) {
    static const struct file right = {
        .more = ",\"truncation\":{\"max_length\":5,\"strategy\":\"LongestFirst\",\"direction\":"
                "\"Right\",\"stride\":0},\"padding\":{\"strategy\":{\"Fixed\":6},\"direction\":"
                "\"Right\",\"pad_id\":0,\"pad_type_id\":7}"};
    static const struct file left = {
        .more = ",\"truncation\":{\"max_length\":4,\"strategy\":\"OnlySecond\",\"direction\":"
                "\"Left\"},\"padding\":{\"strategy\":\"BatchLongest\",\"direction\":\"Left\","
                "\"pad_to_multiple_of\":4,\"pad_id\":0,\"pad_type_id\":0}"};
    CHECK_STR(ids(&right, "cafe i ! un i"), "2 4 10 8 3 0-");
    CHECK_STR(pair(&right, "cafe i ! un", "i"), "2 4 3 10 3 0- | 0 0 0 1 1 7");
    CHECK_STR(ids(&left, "i"), "0- 2 10 3");
    CHECK_STR(pair(&left, "i", "! cafe i"),
              "the second text has 3 tokens, and truncation has to take away 3 of them");
    CHECK_STR(encode(&left,
                     (struct tokenizer_input){.text = "i ! cafe", .size = 8, .length_max = 1},
                     false),
              "a length of at most 1 tokens: 2 of them are added to each text");
}

static void pieces_are_where_a_pattern_is(void) {
    static const struct {
        const char *words, *text, *wanted;
    } rows[] = {
        {"{\"type\":\"Split\",\"pattern\":{\"String\":\"!\"},\"behavior\":\"Removed\"}", "i!i",
         "10 10"},
        {"{\"type\":\"Split\",\"pattern\":{\"String\":\"!\"},\"behavior\":\"Isolated\"}", "i!!i",
         "10 8 8 10"},
        {"{\"type\":\"Split\",\"pattern\":{\"String\":\"!\"},\"behavior\":\"MergedWithPrevious\"}",
         "i!!i", "1 8 10"},
        {"{\"type\":\"Split\",\"pattern\":{\"String\":\"!\"},\"behavior\":\"MergedWithNext\"}",
         "i!!i", "10 8 1"},
        {"{\"type\":\"Split\",\"pattern\":{\"String\":\"!\"},\"behavior\":\"Contiguous\"}", "i!!i",
         "10 1 10"},
        {"{\"type\":\"Split\",\"pattern\":{\"String\":\"!\"},\"behavior\":\"Removed\",\"invert\":"
         "true}",
         "i!!i", "8 8"},
        {"{\"type\":\"Metaspace\",\"replacement\":\"!\",\"prepend_scheme\":\"always\",\"split\":"
         "true}",
         " i", "1"},
        {"{\"type\":\"Metaspace\",\"replacement\":\"i\",\"prepend_scheme\":\"never\",\"split\":"
         "true}",
         " ! ", "1 10"},
        {"{\"type\":\"Whitespace\"}", "i \u0301!?", "10 1 1"},
        {"{\"type\":\"Digits\",\"individual_digits\":true}", "i1\u00b2!", "10 1 1 8"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct file file = {.words = rows[i].words, .ends = "null", .normalizer = "null"};
        CHECK_STR(ids(&file, rows[i].text), rows[i].wanted);
    }
}

static void texts_are_normalized_in_order(void) {
    static const struct {
        const char *steps, *text, *wanted;
    } rows[] = {
        {"{\"type\":\"NFD\"},{\"type\":\"StripAccents\"}", "caf\u00e9", "4"},
        {"{\"type\":\"StripAccents\"},{\"type\":\"NFD\"}", "caf\u00e9", "1"},
        {"{\"type\":\"NFKC\"}", "\uff43\uff41\uff46\uff45", "4"},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\"xx\"},\"content\":\"\"}", "cxxafxxe",
         "4"},
        {"{\"type\":\"Prepend\",\"prepend\":\"ca\"},{\"type\":\"Strip\"}", "fe ", "4"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *steps = x_printf("{\"type\":\"Sequence\",\"normalizers\":[%s]}", rows[i].steps);
        const struct file file = {.normalizer = steps, .words = "null", .ends = "null"};
        CHECK_STR(ids(&file, rows[i].text), rows[i].wanted);
    }
}

static void what_is_not_read_is_named(void) {
    static const struct {
        struct file file;
        const char *wanted;
    } rows[] = {
        {{.model = "{\"type\":\"Magic\"}"},
         "model: type \"Magic\" is not supported; supported: BPE, Unigram, WordLevel, WordPiece"},
        {{.model = "{}"}, "model: type: missing; supported: BPE, Unigram, WordLevel, WordPiece"},
        {{.model = "{\"type\":\"WordPiece\",\"vocab\":{\"a\":-1}}"},
         "model: vocab: the id of token 0: expected a whole number of 0 to 16777215"},
        {{.model = "{\"type\":\"WordPiece\",\"vocab\":{\"a\":1}}"},
         "model: unk_token: not in the vocabulary"},
        {{.words =
              "{\"type\":\"Split\",\"behavior\":\"Removed\",\"pattern\":{\"Regex\":\"(?<=a)\"}}"},
         "pre_tokenizer: pattern: Regex: byte 2: look-behind is not supported"},
        {{.words = "{\"type\":\"Split\",\"behavior\":\"Removed\",\"pattern\":{}}"},
         "pre_tokenizer: pattern: expected {\"String\": TEXT} or {\"Regex\": TEXT}"},
        {{.normalizer = "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}"},
         "normalizer: precompiled_charsmap: expected SentencePiece's map in base64"},
        {{.model = "{\"type\":\"WordLevel\",\"vocab\":{\"a\":1}}", .ends = "null", .added = "[]"},
         "model: a word is not in the vocabulary, and neither is unk_token"},
        {{.words = "{\"type\":\"Split\",\"behavior\":\"Away\"}"},
         "pre_tokenizer: behavior: expected one of Removed, Isolated, MergedWithPrevious, "
         "MergedWithNext, Contiguous"},
        {{.normalizer =
              "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Nmt\"}]}"},
         "normalizer: normalizers[1]: type \"Nmt\" is not supported; supported: Sequence, "
         "BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Replace, Prepend, "
         "Precompiled, ByteLevel"},
        {{.ends = "{\"type\":\"TemplateProcessing\",\"single\":[],\"pair\":[]}"},
         "post_processor: single: expected the sequence A, once"},
        {{.more = ",\"truncation\":{\"max_length\":0}"},
         "truncation: max_length: expected at least 1"},
        {{.more = ",\"padding\":{\"strategy\":\"Some\"}"},
         "padding: strategy: expected one of BatchLongest"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_STR(ids(&rows[i].file, "cafe"), rows[i].wanted);
    }
}

/* An array of this many times the part; the caller frees. */
static char *repeat(const char *part, size_t times) {
    size_t size = strlen(part);
    char *text = x_malloc(times * size + 1);
    for (size_t i = 0; i < times; i++) {
        memcpy(text + i * size, part, size);
    }
    text[times * size] = 0;
    return text;
}

/* What a tokenizer adds to each character does not multiply a text without bound. */
static void characters_do_not_become_too_many(void) {
    AUTO(text_freep) char *end = repeat("a", 65), *text = repeat("b", 300000);
    AUTO(text_freep)
    char *long_end = x_printf("{\"type\":\"BPE\",\"vocab\":{\"<0x61>\":0},\"merges\":[],"
                              "\"continuing_subword_prefix\":\"%s\"}",
                              end);
    AUTO(text_freep)
    char *long_ends =
        x_printf("{\"type\":\"BPE\",\"vocab\":{\"<0x61>\":0,\"<0x62>\":1},\"merges\":[],"
                 "\"byte_fallback\":true,\"continuing_subword_prefix\":\"%s\","
                 "\"end_of_word_suffix\":\"%s\"}",
                 end + 1, end + 1);
    const struct file refused = {.model = long_end}, many = {.model = long_ends,
                                                             .normalizer = "null",
                                                             .words = "null",
                                                             .ends = "null",
                                                             .added = "[]"};
    CHECK_STR(ids(&refused, "b"),
              "model: continuing_subword_prefix: has 65 bytes, at most 64 are read");
    CHECK(strncmp(ids(&many, "b"), "1 0 0 0 0 ", 10) == 0);
    CHECK_STR(ids(&many, text),
              "a piece of the text becomes more than 16777216 tokens before any are merged");
}

static void a_form_is_not_made_of_too_many(void) {
    AUTO(text_freep) char *wide = repeat("\xEF\xB7\xBA", 20000); /* U+FDFA: 18 characters */
    AUTO(text_freep) char *text = repeat("a", 100);
    AUTO(text_freep)
    char *normalizer = x_printf("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\","
                                "\"pattern\":{\"String\":\"a\"},\"content\":\"%s\"},"
                                "{\"type\":\"NFKC\"}]}",
                                wide);
    const struct file file = {.normalizer = normalizer};
    CHECK(strstr(ids(&file, text), "normalizing: a run of more than"));
}

int main(void) {
    TEST(words_become_their_longest_tokens);
    TEST(a_long_word_is_unknown);
    TEST(pairs_are_merged_by_rank);
    TEST(words_of_bytes_are_gpt2s);
    TEST(scores_are_summed);
    TEST(two_texts_have_two_types);
    TEST(added_tokens_take_their_spaces);
    TEST(rows_are_cut_and_filled);
    TEST(pieces_are_where_a_pattern_is);
    TEST(texts_are_normalized_in_order);
    TEST(what_is_not_read_is_named);
    TEST(characters_do_not_become_too_many);
    TEST(a_form_is_not_made_of_too_many);
    return TEST_END();
}
