// SPDX-License-Identifier: Apache-2.0
/* A command line into words: the words, quoted, give the same words again. */
#include "agent/launch/pod/shell_words.h"

#include "lib/buffer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void quote(struct buffer *line, const char *word, bool is_assigned) {
    struct error err = {0};
    const char *value = is_assigned ? strchr(word, '=') + 1 : word;
    int result = buffer_append(line, word, (size_t)(value - word), &err);
    result += buffer_append(line, "'", 1, &err);
    for (; *value; value++) {
        result += *value == '\'' ? buffer_append(line, "'\\''", 4, &err)
                                 : buffer_append(line, value, 1, &err);
    }
    result += buffer_append(line, "' ", 2, &err);
    if (result < 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO(text_freep) char *line = x_strndup((const char *)data, size);
    AUTO(buffer_release) struct buffer quoted;
    struct shell_words words, again;
    buffer_init(&quoted, 1 << 20);
    if (size > 100000 || !shell_words_split(line, &words)) {
        return 0;
    }
    for (size_t i = 0; i < words.count; i++) {
        quote(&quoted, words.items[i], i < words.assigned);
    }
    if (!shell_words_split(quoted.data, &again) || again.count != words.count ||
        again.assigned != words.assigned) {
        abort();
    }
    for (size_t i = 0; i < words.count; i++) {
        if (strcmp(words.items[i], again.items[i]) != 0) {
            abort();
        }
    }
    shell_words_release(&again);
    shell_words_release(&words);
    return 0;
}
