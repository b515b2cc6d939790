// SPDX-License-Identifier: Apache-2.0
/* What an output says about itself, from a storage that others can write: result.json, a line of
 * outputs.jsonl, and its signature. A line that is accepted is written as it was read. */
#include "agent/result/envelope.h"
#include "agent/result/result_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The public half of a key that no one uses; any will do. */
static const char public_key[] = "-----BEGIN PUBLIC KEY-----\n"
                                 "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
                                 "-----END PUBLIC KEY-----\n";

static void check_line(const char *text, size_t size) {
    struct output_line line, again;
    struct error err = {0};
    AUTO(buffer_release) struct buffer written;
    buffer_init(&written, OUTPUT_LINE_MAX);
    if (output_line_parse(text, size, &line, &err) < 0) {
        if (!err.text[0]) {
            abort();
        }
        return;
    }
    if (output_line_format(line.name, line.size_bytes, line.sha256, &written, &err) < 0 ||
        output_line_parse(written.data, written.size - 1, &again, &err) < 0 ||
        strcmp(line.name, again.name) != 0 || line.size_bytes != again.size_bytes ||
        strcmp(line.sha256, again.sha256) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct signature_key *key;
    AUTO(tree_freep) json_t *result = NULL;
    struct error err = {0}, why = {0}, unsigned_why = {0};
    char *text = x_malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    if (!key && signature_key_read_public(public_key, &key, &err) < 0) {
        abort();
    }
    check_line(text, size);
    if (result_file_parse(text, size, &result, &why) == 0) {
        (void)result_file_find(result, "rows.txt");
        (void)result_file_completes(text, size, "0123456789abcdef", text, size);
    }
    if (envelope_check(text, size, key, "00", &unsigned_why) == 0) {
        abort(); /* such a signature cannot be found */
    }
    free(text);
    return 0;
}
