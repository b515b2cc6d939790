// SPDX-License-Identifier: Apache-2.0
/* Texts as samples: the tokens, their mask, types and positions; padding on either side; a class
 * for each word; bad rows by number; Parquet. */
#include "agent/data/parquet/write/parquet_writer.h"
#include "agent/train/dataset/loader.h"
#include "lib/buffer.h"
#include "tests/unit/agent/data/fixtures.h"
#include "tests/unit/agent/train/dataset/sets.h"

/* [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, a 4, walk 5, ##ed 6, dog 7. */
#define TOKENIZER(more)                                                                            \
    "{\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"                      \
    "\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]}" \
    ","                                                                                            \
    "\"added_tokens\":[]," more "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[PAD]\":0,"        \
    "\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"a\":4,\"walk\":5,\"##ed\":6,\"dog\":7}}}"
#define SPEC(file, more)                                                                           \
    "{\"text\": {\"path\": \"out/" file                                                            \
    "\", \"tokenizer\": \"out/t.json\", \"maxLength\": 6, " more "}}"
#define ONE "\"columns\": [\"text\"], \"label\": \"kind\""

enum { LENGTH = 6 };

static void put(const char *name, const char *text) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

static const char *numbers(const void *data) {
    static char said[8][128];
    static int next;
    char *text = said[next++ % 8];
    size_t used = 0;
    for (int i = 0; i < LENGTH; i++) {
        used += (size_t)snprintf(text + used, 128 - used, "%s%lld", i ? " " : "",
                                 (long long)((const int64_t *)data)[i]);
    }
    return text;
}

static void test_tokens_of_a_text(void) {
    put("t.json", TOKENIZER(""));
    put("t.csv", "text,kind\na walked dog,1\ndog,0\na dog walked a dog,1\n");
    AUTO(dataset_closep) struct dataset *dataset = must_open(SPEC("t.csv", ONE), NULL);
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    CHECK(dataset->count == 3 && dataset->classes == 2 && dataset->places.rank == 0);
    CHECK(shape_equal(&dataset->shape, &(struct shape){1, {LENGTH}}));
    CHECK_OK(dataset_read(dataset, 1, &sample, &err), &err);
    CHECK_STR(numbers(sample.data), "2 7 3 0 0 0");
    CHECK_STR(numbers(sample.extras[0]), "1 1 1 0 0 0");
    CHECK_STR(numbers(sample.extras[2]), "0 1 2 0 0 0");
    CHECK_INT(sample.label, 0);
    CHECK_OK(dataset_read(dataset, 0, &sample, &err), &err);
    CHECK_STR(numbers(sample.data), "2 4 5 6 7 3");
    CHECK_OK(dataset_read(dataset, 2, &sample, &err), &err);
    CHECK_STR(numbers(sample.data), "2 4 7 5 6 3");
    CHECK_STR(dataset->notice, "1 of 3 texts are longer than maxLength 6 and are cut");
    CHECK_INT(dataset_find(dataset, "input_ids"), 0);
    CHECK_INT(dataset_find(dataset, "token_type_ids"), 2);
    CHECK_INT(dataset_find(dataset, "x"), -1);
}

static void test_labels_are_whole_numbers(void) {
    static const char *const wanted[] = {"1.5", "\"1.5\"", "\"1e0\"", "-1", "1048576"};
    put("t.json", TOKENIZER(""));
    put("f.jsonl", "{\"text\":\"a\",\"kind\":1}\n{\"text\":\"a\",\"kind\":1.5}\n"
                   "{\"text\":\"a\",\"kind\":\"1.5\"}\n{\"text\":\"a\",\"kind\":\"1e0\"}\n"
                   "{\"text\":\"a\",\"kind\":-1}\n{\"text\":\"a\",\"kind\":1048576}\n");
    AUTO(dataset_closep)
    struct dataset *dataset = must_open(SPEC("f.jsonl", "\"format\": \"JSONLines\", " ONE), NULL);
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    CHECK_OK(dataset_read(dataset, 0, &sample, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        AUTO(text_freep)
        char *says = x_printf("column \"kind\": %s is not a class, a whole number", wanted[i]);
        err = (struct error){0};
        CHECK_INT(dataset_read(dataset, 1 + (int64_t)i, &sample, &err), -1);
        CHECK(err.kind == ERROR_INVALID && strstr(err.text, "out/f.jsonl: row "));
        CHECK(strstr(err.text, says) || (printf("# %s\n", err.text), 0));
    }
}

static void test_a_file_that_pads_in_front(void) {
    put("t.json", TOKENIZER("\"padding\":{\"strategy\":\"BatchLongest\",\"direction\":\"Left\","
                            "\"pad_to_multiple_of\":4,\"pad_id\":0,\"pad_type_id\":1,"
                            "\"pad_token\":\"[PAD]\"},"));
    put("p.jsonl", "{\"q\": \"dog\", \"p\": \"a\", \"kind\": 0}\n");
    AUTO(dataset_closep)
    struct dataset *dataset = must_open(SPEC("p.jsonl", "\"format\": \"JSONLines\", \"columns\": "
                                                        "[\"q\", \"p\"], \"label\": \"kind\""),
                                        NULL);
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    CHECK_OK(dataset_read(dataset, 0, &sample, &err), &err);
    CHECK_STR(numbers(sample.data), "0 2 7 3 4 3");
    CHECK_STR(numbers(sample.extras[0]), "0 1 1 1 1 1");
    CHECK_STR(numbers(sample.extras[1]), "1 0 0 0 1 1");
    CHECK_STR(numbers(sample.extras[2]), "0 0 1 2 3 4");
}

#define WORDS                                                                                      \
    "\"columns\": [\"text\"], \"labels\": \"tags\", \"format\": \"JSONLines\", \"classes\": "      \
    "[\"O\", \"B\"]"

/* A word of two tokens has its class at the first; a list and a text with spaces are alike. */
static void test_classes_of_words(void) {
    struct dataset_options options = {.ignored = -100, .has_ignored = true};
    put("t.json", TOKENIZER(""));
    put("w.jsonl", "{\"text\": [\"walked\", \"dog\"], \"tags\": [\"B\", \"O\"]}\n"
                   "{\"text\": \"walked  dog\", \"tags\": \"B O\"}\n"
                   "{\"text\": \"a\", \"tags\": \"B O\"}\n"
                   "{\"text\": \"a\", \"tags\": \"b\"}\n"
                   "{\"text\": \"a a a walked dog\", \"tags\": \"B O B O O\"}\n");
    AUTO(dataset_closep) struct dataset *dataset = must_open(SPEC("w.jsonl", WORDS), &options);
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    CHECK(dataset->classes == 2 && dataset_counted(dataset, 0) == 2);
    for (int64_t i = 0; i < 2; i++) {
        CHECK_OK(dataset_read(dataset, i, &sample, &err), &err);
        CHECK_STR(numbers(sample.data), "2 5 6 7 3 0");
        CHECK_STR(numbers(sample.labels), "-100 1 -100 0 -100 -100");
    }
    CHECK_INT(dataset_read(dataset, 2, &sample, &err), -1);
    CHECK_STR(err.text,
              "out/w.jsonl: row 3 (byte 87): column \"tags\" has 2 classes for 1 words of "
              "column \"text\"");
    err = (struct error){0};
    CHECK_INT(dataset_read(dataset, 3, &sample, &err), -1);
    CHECK_STR(err.text,
              "out/w.jsonl: row 4 (byte 116): column \"tags\": \"b\" is not one of classes");
    err = (struct error){0};
    CHECK_OK(dataset_read(dataset, 4, &sample, &err), &err); /* cut: the last words have no place */
    CHECK_STR(numbers(sample.labels), "-100 1 0 1 0 -100");
    CHECK_INT(dataset_counted(dataset, 4), 4);
}

/* Of a class that does not count no place is counted, though `classes` gives it a name. */
static void test_an_ignored_class_does_not_count(void) {
    struct dataset_options options = {.ignored = 0, .has_ignored = true};
    put("t.json", TOKENIZER(""));
    put("i.jsonl", "{\"text\": \"walked dog a\", \"tags\": \"B O B\"}\n");
    AUTO(dataset_closep) struct dataset *dataset = must_open(SPEC("i.jsonl", WORDS), &options);
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    CHECK_OK(dataset_read(dataset, 0, &sample, &err), &err);
    CHECK_STR(numbers(sample.data), "2 5 6 7 4 3");
    CHECK_STR(numbers(sample.labels), "0 1 0 0 1 0");
    CHECK_INT(dataset_counted(dataset, 0), 2);
}

/* Where the file says that a text that is too long keeps its last tokens, classes move with them;
 * a word whose first token is gone has none. */
static void test_a_file_that_cuts_in_front(void) {
    struct dataset_options options = {.ignored = -100, .has_ignored = true};
    put("t.json", TOKENIZER("\"truncation\":{\"direction\":\"Left\",\"max_length\":9,"
                            "\"strategy\":\"LongestFirst\",\"stride\":0},"));
    put("l.jsonl", "{\"text\": \"a dog a walked dog\", \"tags\": \"B B B O B\"}\n"
                   "{\"text\": \"walked a a dog\", \"tags\": \"B O B O\"}\n"
                   "{\"text\": \"a dog\", \"tags\": \"O B\"}\n");
    AUTO(dataset_closep) struct dataset *dataset = must_open(SPEC("l.jsonl", WORDS), &options);
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    static const char *const wanted[][2] = {{"2 4 5 6 7 3", "-100 1 0 -100 1 -100"},
                                            {"2 6 4 4 7 3", "-100 -100 0 1 0 -100"},
                                            {"2 4 7 3 0 0", "-100 0 1 -100 -100 -100"}};
    for (int64_t i = 0; i < 3; i++) {
        CHECK_OK(dataset_read(dataset, i, &sample, &err), &err);
        CHECK_STR(numbers(sample.data), wanted[i][0]);
        CHECK_STR(numbers(sample.labels), wanted[i][1]);
    }
}

/* A text that is just as long as maxLength is not cut, however far the file fills it up. */
static void test_padding_is_not_cut(void) {
    put("t.json", TOKENIZER("\"padding\":{\"strategy\":{\"Fixed\":8},\"direction\":\"Right\","
                            "\"pad_to_multiple_of\":null,\"pad_id\":0,\"pad_type_id\":0,"
                            "\"pad_token\":\"[PAD]\"},"));
    put("f.csv", "text,kind\na walked dog,1\ndog,0\n");
    AUTO(dataset_closep) struct dataset *exact = must_open(SPEC("f.csv", ONE), NULL);
    CHECK(!exact->notice);
    put("f.csv", "text,kind\na walked dog,1\na walked dog dog,0\n");
    AUTO(dataset_closep) struct dataset *longer = must_open(SPEC("f.csv", ONE), NULL);
    CHECK_STR(longer->notice, "1 of 2 texts are longer than maxLength 6 and are cut");
}

static void test_words_that_are_no_texts(void) {
    struct dataset_options options = {.ignored = -100, .has_ignored = true};
    put("t.json", TOKENIZER(""));
    put("n.jsonl", "{\"text\": [\"a\", \"dog\"], \"tags\": [\"O\", \"B\"]}\n"
                   "{\"text\": [\"a\", 7], \"tags\": [\"O\", \"B\"]}\n"
                   "{\"text\": [\"a\", \"dog\"], \"tags\": [\"O\", null]}\n");
    AUTO(dataset_closep) struct dataset *dataset = must_open(SPEC("n.jsonl", WORDS), &options);
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    CHECK_INT(dataset_read(dataset, 1, &sample, &err), -1);
    CHECK(strstr(err.text, "row 2 (byte 43): column \"text\": word 2 is not a string"));
    err = (struct error){0};
    CHECK_INT(dataset_read(dataset, 2, &sample, &err), -1);
    CHECK(strstr(err.text, "column \"tags\": null is not one of classes"));
}

/* Batches have the further tensors in the network's type, beside the first one's. */
static void test_batches_have_all_tensors(void) {
    struct augment augment;
    struct error err = {0};
    put("t.json", TOKENIZER(""));
    put("t.csv", "text,kind\na walked dog,1\ndog,0\n");
    AUTO(dataset_closep) struct dataset *dataset = must_open(SPEC("t.csv", ONE), NULL);
    CHECK_OK(augment_read(NULL, NULL, dataset, &augment, &err), &err);
    augment.result = TENSOR_INT64;
    for (size_t i = 0; i < dataset->extra_count; i++) {
        augment.extra_results[i] = i ? TENSOR_INT64 : TENSOR_INT32;
    }
    const struct loader_options options = {.dataset = dataset,
                                           .augment = &augment,
                                           .batch_size = 2,
                                           .size = 1,
                                           .end_step = 1,
                                           .threads = 2};
    AUTO(loader_closep) struct loader *loader = NULL;
    const struct batch *batch = NULL;
    CHECK_OK(loader_open(&options, &loader, &err), &err);
    CHECK_INT(loader_take(loader, &batch, &err), 1);
    if (batch) {
        const int32_t *mask = batch->extras[0];
        CHECK_STR(numbers((const int64_t *)batch->samples + LENGTH), "2 7 3 0 0 0");
        CHECK_STR(numbers((const int64_t *)batch->extras[2] + LENGTH), "0 1 2 0 0 0");
        CHECK(mask[LENGTH - 1] == 1 && mask[LENGTH + 2] == 1 && mask[LENGTH + 3] == 0);
    }
    json_t *normalize = json_pack("{s:[s], s:[s]}", "mean", "0", "deviation", "1");
    CHECK_INT(augment_read(NULL, normalize, dataset, &augment, &err), -1);
    CHECK(strstr(err.text, "normalize: needs samples with one input, these have 4") != NULL);
    json_decref(normalize);
}

static int collect(void *context, const void *data, size_t size, struct error *err) {
    return buffer_append(context, data, size, err);
}

static void test_parquet(void) {
    static const struct parquet_column columns[] = {{"text", PARQUET_KIND_TEXT},
                                                    {"kind", PARQUET_KIND_INTEGER}};
    struct error err = {0};
    AUTO(buffer_release) struct buffer file;
    buffer_init(&file, 1 << 20);
    const struct parquet_writer_options options = {
        .columns = columns, .count = ARRAY_LEN(columns), .take = collect, .context = &file};
    struct parquet_writer *writer = parquet_writer_new(&options);
    for (int i = 0; i < 3; i++) {
        struct chunk_writer *text = parquet_writer_column(writer, 0);
        CHECK_OK(i < 2 ? chunk_writer_text(text, "dog", 3, &err) : chunk_writer_null(text, &err),
                 &err);
        CHECK_OK(chunk_writer_integer(parquet_writer_column(writer, 1), 1 + i, &err), &err);
        CHECK_OK(parquet_writer_end_row(writer, &err), &err);
    }
    CHECK_OK(parquet_writer_finish(writer, &err), &err);
    parquet_writer_free(writer);
    AUTO(text_freep) char *path = x_printf("%s/t.parquet", fixtures_out);
    CHECK_OK(file_write(path, file.data, file.size, &err), &err);
    put("t.json", TOKENIZER(""));
    AUTO(dataset_closep)
    struct dataset *dataset = must_open(SPEC("t.parquet", "\"format\": \"Parquet\", " ONE), NULL);
    AUTO(sample_release) struct sample sample = {0};
    CHECK_OK(dataset_read(dataset, 1, &sample, &err), &err);
    CHECK_STR(numbers(sample.data), "2 7 3 0 0 0");
    CHECK_INT(sample.label, 2);
    CHECK_STR(dataset->notice, "no row has the class 0, though classes are counted from 0");
    CHECK_INT(dataset_read(dataset, 2, &sample, &err), -1);
    CHECK_STR(err.text, "out/t.parquet: row 3: column \"text\": a string is expected");
}

static void check_refused(const char *spec, const struct dataset_options *options,
                          const char *text) {
    struct error err = {0};
    AUTO(dataset_closep) struct dataset *dataset = open_set(spec, options, &err);
    CHECK(!dataset);
    CHECK(strstr(err.text, text) != NULL);
    if (!strstr(err.text, text)) {
        printf("# %s\n", err.text);
    }
}

static void test_what_is_refused(void) {
    put("t.json", TOKENIZER(""));
    put("t.csv", "text,kind\ndog,0\na,1\n");
    check_refused(SPEC("t.csv", "\"columns\": [\"text\"], \"label\": \"mood\""), NULL,
                  "text: out/t.csv: its header has no column \"mood\"");
    check_refused(SPEC("t.csv", "\"columns\": [\"a\", \"b\"], \"labels\": \"kind\""), NULL,
                  "text: columns: one is expected with labels, which are of the words of one text");
    check_refused(SPEC("t.csv", ONE ", \"labels\": \"kind\""), NULL,
                  "text: exactly one of label and labels must be given");
    check_refused(SPEC("t.csv", ONE ", \"classes\": [\"x\", \"x\"]"), NULL,
                  "text: classes: item 1: it is a duplicate");
    put("bad.json", "{}");
    check_refused("{\"text\": {\"path\": \"out/t.csv\", \"tokenizer\": \"out/bad.json\", " ONE "}}",
                  NULL, "text: tokenizer: out/bad.json");
    struct dataset_options small = {.memory_bytes = 100};
    check_refused(SPEC("t.csv", ONE), &small, "raise resources.limits.memory");
    /* Data for tests with another tokenizer would have other ids. */
    AUTO(dataset_closep) struct dataset *train = must_open(SPEC("t.csv", ONE), NULL);
    struct dataset_options like = {.like = train};
    put("t.json", TOKENIZER("\"version\":\"1.0\","));
    check_refused(SPEC("t.csv", ONE), &like,
                  "text: tokenizer: it is another one than that of the training data");
}

int main(void) {
    fixtures_start("data-text");
    TEST(test_tokens_of_a_text);
    TEST(test_labels_are_whole_numbers);
    TEST(test_a_file_that_pads_in_front);
    TEST(test_classes_of_words);
    TEST(test_an_ignored_class_does_not_count);
    TEST(test_a_file_that_cuts_in_front);
    TEST(test_padding_is_not_cut);
    TEST(test_words_that_are_no_texts);
    TEST(test_batches_have_all_tensors);
    TEST(test_parquet);
    TEST(test_what_is_refused);
    return TEST_END();
}
