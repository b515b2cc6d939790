// SPDX-License-Identifier: Apache-2.0
/* Pieces are kept as [struct piece_head][the results' JSON text], or for arrays [struct
 * piece_head][the member "npy"][their bytes]. */
#include "agent/score/worker/command_answer.h"

#include "lib/temporary_file.h"
#include "lib/text/jsontext.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NPY_MEMBER_MAX = 64 << 10 };

struct piece_head {
    uint64_t text, bytes; /* sizes; bytes 0: of results */
};

void command_answer_start(struct command_answer *answer, size_t items) {
    *answer = (struct command_answer){.items = items};
    answer->causes = x_calloc(MAX(items, 1), sizeof *answer->causes);
    buffer_init(&answer->held, 2 * COMMAND_ANSWER_HELD);
    buffer_init(&answer->piece, COMMAND_LINE_MAX + NPY_MEMBER_MAX);
    buffer_init(&answer->row, COMMAND_LINE_MAX);
}

void command_answer_release(struct command_answer *answer) {
    for (size_t i = 0; answer->causes && i < answer->items; i++) {
        free(answer->causes[i]);
    }
    free(answer->causes);
    free(answer->error);
    free(answer->npy);
    free(answer->arrays);
    buffer_release(&answer->held);
    buffer_release(&answer->piece);
    buffer_release(&answer->row);
    if (answer->file) {
        fclose(answer->file);
    }
    *answer = (struct command_answer){0};
}

/* No result counts, so none is kept. Takes the text. */
static void refuse(struct command_answer *answer, char *error) {
    if (answer->error) {
        free(error);
        return;
    }
    answer->error = error;
    answer->is_whole = true;
    buffer_release(&answer->held);
    if (answer->file) {
        fclose(TAKE(answer->file));
    }
}

/* ---- what is kept --------------------------------------------------------------------------- */

static int keep(struct command_answer *answer, const void *data, size_t size, struct error *err) {
    if (!answer->file && answer->held.size + size <= COMMAND_ANSWER_HELD) {
        return buffer_append(&answer->held, data, size, err);
    }
    if (!answer->file) {
        answer->file = temporary_file_open(err);
        if (!answer->file) {
            return error_context(err, "cannot keep the answer");
        }
        if (answer->held.size &&
            fwrite(answer->held.data, answer->held.size, 1, answer->file) != 1) {
            return error_from_errno(err, errno, "cannot keep the answer in $TMPDIR");
        }
        buffer_release(&answer->held);
    }
    return size == 0 || fwrite(data, size, 1, answer->file) == 1
               ? 0
               : error_from_errno(err, errno, "cannot keep the answer in $TMPDIR");
}

static void keep_piece(struct command_answer *answer, const struct command_slice *text,
                       const char *bytes, size_t size) {
    const struct piece_head head = {text->size, size};
    struct error why = {0};
    if (keep(answer, &head, sizeof head, &why) < 0 ||
        keep(answer, text->at, text->size, &why) < 0 || keep(answer, bytes, size, &why) < 0) {
        refuse(answer, x_strdup(why.text));
    }
}

static int fetch(struct command_answer *answer, void *data, size_t size, struct error *err) {
    if (!answer->file) {
        assert(size <= answer->held.size - answer->read_at);
        memcpy(data, answer->held.data + answer->read_at, size);
        answer->read_at += size;
        return 0;
    }
    return size == 0 || fread(data, size, 1, answer->file) == 1
               ? 0
               : error_set(err, ERROR_FAILED, "cannot read the answer back from $TMPDIR");
}

/* ---- lines ---------------------------------------------------------------------------------- */

static size_t count_results(const struct command_slice *slice) {
    const char *at = slice->at + 1, *end = slice->at + slice->size;
    size_t count = 0;
    struct command_slice value;
    for (at = jsontext_space(at, end); *at != ']'; at += *at == ',') {
        bool is_there = command_slice_take(&at, end, &value);
        assert(is_there); /* the line was parsed before */
        count += is_there;
    }
    return count;
}

/* Reads {"1":"no such shop"}. */
static void read_failed(struct command_answer *answer, const struct command_slice *slice) {
    const char *at = slice->at, *end = slice->at + slice->size;
    struct jsontext_member member;
    if (*at != '{') {
        refuse(answer, x_strdup("failed is not an object of indexes and causes"));
        return;
    }
    while (jsontext_next_member(&at, end, &member)) {
        const struct command_slice digits = {member.name + 1, member.name_size - 2};
        int64_t index = command_slice_count(&digits);
        if (index < 0 || (size_t)index >= answer->items) {
            refuse(answer, x_printf("failed names item %.*s, there are 0 to %lld",
                                    (int)MIN(member.name_size, (size_t)40), member.name,
                                    (long long)answer->items - 1));
            return;
        }
        answer->failed += answer->causes[index] == NULL;
        free(answer->causes[index]);
        const struct command_slice cause = {member.value, member.value_size};
        answer->causes[index] = command_slice_text(&cause);
    }
}

/* This many results have come: too many end the answer, whether it has more or not. Whether there
 * is something to keep: a line without results makes no piece. */
static bool count_more(struct command_answer *answer, size_t count) {
    answer->count += count;
    if (answer->count > answer->items) {
        refuse(answer, x_printf("%zu results for %zu items", answer->count, answer->items));
    }
    return !answer->error && count > 0;
}

/* The line, or the arrays behind it, is complete. */
static void complete_answer(struct command_answer *answer, bool has_more) {
    if (answer->error || has_more) {
        return;
    }
    struct error why = {0};
    if (answer->count != answer->items) {
        refuse(answer, x_printf("%zu results for %zu items", answer->count, answer->items));
    } else if (answer->file && (fflush(answer->file) != 0 || fseek(answer->file, 0, SEEK_SET))) {
        (void)error_from_errno(&why, errno, "cannot keep the answer in $TMPDIR");
        refuse(answer, x_strdup(why.text));
    }
    answer->is_whole = true;
}

static bool is_given(const struct command_slice *slice) {
    return slice->at && !command_slice_is(slice, "null");
}

static void read_line(struct command_answer *answer, const struct command_message *message) {
    if (message->is_broken) {
        refuse(answer, x_strdup("the answer is not JSON (NaN and Infinity are not allowed)"));
    } else if (is_given(&message->error)) {
        refuse(answer, command_slice_text(&message->error));
    } else if (message->npy.at && message->results.at) {
        refuse(answer, x_strdup("a line of the answer has both results and npy"));
    } else if (!message->npy.at && (!message->results.at || *message->results.at != '[')) {
        refuse(answer, x_strdup("the answer has neither results (a list) nor error"));
    } else if (is_given(&message->failed)) {
        read_failed(answer, &message->failed);
    }
}

int64_t command_answer_line(struct command_answer *answer, const struct command_message *message) {
    struct error why = {0};
    int64_t bytes = 0;
    struct command_arrays arrays;
    bool has_arrays = message->npy.at && !message->is_broken;
    if (has_arrays && command_arrays_read(&message->npy, &arrays, &why) == 0) {
        bytes = arrays.bytes;
    }
    if (!answer) {
        return bytes;
    }
    read_line(answer, message);
    if (!answer->error && message->npy.size > NPY_MEMBER_MAX) {
        refuse(answer, x_strdup("npy is too long"));
    } else if (!answer->error && has_arrays && !bytes) {
        refuse(answer, x_strdup(why.text));
    } else if (!answer->error && has_arrays) {
        answer->npy = x_strndup(message->npy.at, message->npy.size);
        answer->has_more = message->has_more;
    } else if (!answer->error) {
        if (count_more(answer, count_results(&message->results))) {
            keep_piece(answer, &message->results, "", 0);
        }
        complete_answer(answer, message->has_more);
    }
    return bytes;
}

void command_answer_body(struct command_answer *answer, const char *bytes, size_t size) {
    AUTO(text_freep) char *npy = TAKE(answer->npy);
    const struct command_slice text = {npy, strlen(npy)};
    struct command_arrays arrays;
    struct error why = {0};
    size_t rows = 0;
    if (!bytes) {
        refuse(answer, x_printf("more than %d MiB of arrays behind one line: send them behind "
                                "several, with \"more\": true",
                                COMMAND_LINE_MAX >> 20));
    } else if (command_arrays_read(&text, &arrays, &why) < 0 ||
               command_arrays_open(&arrays, bytes, &rows, &why) < 0) {
        refuse(answer, x_strdup(why.text));
    } else {
        if (count_more(answer, rows)) {
            keep_piece(answer, &text, bytes, size);
        }
        complete_answer(answer, answer->has_more);
    }
}

/* ---- results -------------------------------------------------------------------------------- */

static int open_arrays(struct command_answer *answer, const struct piece_head *head,
                       struct error *err) {
    const struct command_slice npy = {answer->piece.data, head->text};
    if (!answer->arrays) {
        answer->arrays = x_calloc(1, sizeof *answer->arrays);
    }
    return command_arrays_read(&npy, answer->arrays, err) < 0
               ? -1
               : command_arrays_open(answer->arrays, answer->piece.data + head->text,
                                     &answer->piece_rows, err);
}

static int read_piece(struct command_answer *answer, struct error *err) {
    struct piece_head head;
    char *data = NULL;
    buffer_release(&answer->piece);
    if (fetch(answer, &head, sizeof head, err) < 0 ||
        buffer_extend(&answer->piece, head.text + head.bytes, &data, err) < 0 ||
        fetch(answer, data, head.text + head.bytes, err) < 0) {
        return -1;
    }
    answer->is_arrays = head.bytes > 0;
    answer->piece_at = answer->is_arrays ? 0 : 1; /* behind the bracket */
    return answer->is_arrays ? open_arrays(answer, &head, err) : 0;
}

/* The next value of the piece's list. False: there is none. */
static bool take_listed(struct command_answer *answer, struct command_slice *ret_value) {
    const char *data = answer->piece.data;
    if (!answer->piece.size) {
        return false;
    }
    const char *end = data + answer->piece.size;
    const char *at = jsontext_space(data + answer->piece_at, end);
    at += at < end && *at == ',';
    if (at == end || *at == ']' || !command_slice_take(&at, end, ret_value)) {
        return false;
    }
    answer->piece_at = (size_t)(at - data);
    return true;
}

static int take_row(struct command_answer *answer, struct command_slice *ret_value,
                    struct error *err) {
    buffer_clear(&answer->row);
    if (command_arrays_row(answer->arrays, answer->piece_at++, &answer->row, err) < 0) {
        error_clear(err);
        return error_set(err, ERROR_FAILED, "a result of more than %d MiB as JSON",
                         COMMAND_LINE_MAX >> 20);
    }
    *ret_value = (struct command_slice){answer->row.data, answer->row.size};
    return 0;
}

int command_answer_next(struct command_answer *answer, struct command_result *ret_result,
                        struct error *err) {
    struct command_slice value = {0};
    assert(answer->is_whole && !answer->error && answer->given < answer->items);
    while (answer->is_arrays ? answer->piece_at >= answer->piece_rows
                             : !take_listed(answer, &value)) {
        if (read_piece(answer, err) < 0) {
            return -1;
        }
    }
    if (answer->is_arrays && take_row(answer, &value, err) < 0) {
        return -1;
    }
    const char *cause = answer->causes[answer->given++];
    *ret_result = (struct command_result){cause ? NULL : value.at, cause ? 0 : value.size, cause};
    return 0;
}
