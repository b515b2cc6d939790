// SPDX-License-Identifier: Apache-2.0
/* `model tokenize`: what a tokenizer makes of texts. */
#include "agent/commands/model.h"

#include "agent/data/text/tokenizer.h"
#include "lib/options.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 256 << 20 };

struct job {
    const struct tokenizer *tokenizer;
    struct tokenizer_memory *memory;
    size_t length_max;
    bool is_bare;
};

static void print_row(const struct tokenizer_tokens *tokens) {
    printf("{\"ids\":[");
    for (size_t i = 0; i < tokens->count; i++) {
        printf("%s%d", i ? "," : "", tokens->ids[i]);
    }
    printf("],\"types\":[");
    for (size_t i = 0; i < tokens->count; i++) {
        printf("%s%d", i ? "," : "", tokens->types[i]);
    }
    printf("],\"mask\":[");
    for (size_t i = 0; i < tokens->count; i++) {
        printf("%s%d", i ? "," : "", tokens->mask[i]);
    }
    printf("]}\n");
}

static int tokenize(const struct job *job, struct tokenizer_input input, struct error *err) {
    struct tokenizer_tokens tokens;
    input.length_max = job->length_max;
    input.is_bare = job->is_bare;
    if (tokenizer_encode(job->tokenizer, job->memory, &input, &tokens, err) < 0) {
        return -1;
    }
    print_row(&tokens);
    return 0;
}

static int tokenize_words(const struct job *job, const struct option_list *words,
                          const char *second, struct error *err) {
    for (size_t i = 1; i < words->count; i++) {
        struct tokenizer_input input = {.text = words->values[i],
                                        .size = strlen(words->values[i]),
                                        .second = second,
                                        .second_size = second ? strlen(second) : 0};
        if (tokenize(job, input, err) < 0) {
            return error_context(err, "text %zu", i);
        }
    }
    return 0;
}

/* "TEXT" or ["TEXT", "SECOND"] */
static int tokenize_json(const struct job *job, const char *line, size_t size, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse(line, size, LINE_MAX_BYTES, &tree, err) < 0) {
        return -1;
    }
    const json_t *first = json_is_array(tree) ? json_array_get(tree, 0) : tree;
    const json_t *second = json_array_get(tree, 1);
    if (!json_is_string(first) ||
        (json_is_array(tree) && (json_array_size(tree) != 2 || !json_is_string(second)))) {
        return error_set(err, ERROR_INVALID, "expected \"TEXT\" or [\"TEXT\", \"SECOND TEXT\"]");
    }
    return tokenize(job,
                    (struct tokenizer_input){.text = json_string_value(first),
                                             .size = json_string_length(first),
                                             .second = json_string_value(second),
                                             .second_size = json_string_length(second)},
                    err);
}

static int tokenize_lines(const struct job *job, bool is_json, struct error *err) {
    char *line = NULL;
    size_t capacity = 0, number = 0;
    ssize_t size;
    int result = 0;
    while (result == 0 && (size = getline(&line, &capacity, stdin)) >= 0) {
        size_t bytes = (size_t)size - (line[size - 1] == '\n');
        number++;
        result = is_json
                     ? tokenize_json(job, line, bytes, err)
                     : tokenize(job, (struct tokenizer_input){.text = line, .size = bytes}, err);
    }
    free(line);
    return result < 0 ? error_context(err, "line %zu", number) : 0;
}

int model_tokenize_command(int argc, char **argv, struct error *err) {
    const char *second = NULL;
    bool is_json = false;
    int64_t most = 0;
    struct job job = {0};
    const struct option options[] = {
        {"second", 's', OPTION_TEXT, "TEXT", "Makes a pair of each text and this one.", &second},
        {"max-length", 'm', OPTION_INTEGER, "N", "At most N tokens (default: as the file says).",
         &most},
        {"bare", 0, OPTION_FLAG, NULL, "Without the tokens that the file adds at the ends.",
         &job.is_bare},
        {"json", 0, OPTION_FLAG, NULL,
         "Lines of the input are JSON: \"TEXT\", or [\"TEXT\", \"SECOND TEXT\"].", &is_json},
        {.name = NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent model tokenize TOKENIZER.json [TEXT ...] [options]",
        .about = "Prints what a tokenizer makes of each text, or of each line of the input: one "
                 "line of\nJSON with the ids of the tokens, their types and the mask.\n\n"
                 "The file is Hugging Face's tokenizer.json. What Windlass does not read in it is "
                 "named.",
        .examples = "windlass-agent model tokenize tokenizer.json \"a text\"\n"
                    "windlass-agent model tokenize tokenizer.json --max-length 128 <lines.txt",
        .words_min = 1,
        .words_max = 64};
    struct option_list words = {0};
    int read = options_read(argc, argv, &help, options, &words, err);
    if (read != 0) {
        return MIN(read, 0);
    }
    if (most < 0) {
        return error_set(err, ERROR_INVALID, "--max-length: expected at least 0");
    }
    AUTO(tokenizer_freep) struct tokenizer *tokenizer = NULL;
    AUTO(tokenizer_memory_freep) struct tokenizer_memory *memory = tokenizer_memory_new();
    if (tokenizer_open(words.values[0], &tokenizer, err) < 0) {
        return -1;
    }
    job.tokenizer = tokenizer;
    job.memory = memory;
    job.length_max = (size_t)most;
    return words.count > 1 ? tokenize_words(&job, &words, second, err)
                           : tokenize_lines(&job, is_json, err);
}
