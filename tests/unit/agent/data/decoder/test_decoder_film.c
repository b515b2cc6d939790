// SPDX-License-Identifier: Apache-2.0
/* Calls about a whole film. This program is also the decoder: started as one it confines itself as
 * decoder_child.c does, and then does what the request says, like a process in the hands of the one
 * who made the film. */
#include "agent/data/decoder/confine.h"
#include "agent/data/decoder/decoder.h"
#include "agent/data/decoder/decoder_message.h"
#include "agent/data/decoder/decoder_process.h"
#include "agent/data/input/media.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the child ---- */

static char *window;

static void send_message(const struct decoder_message *message, size_t size) {
    (void)!send(DECODER_SOCKET_FD, message, size, MSG_NOSIGNAL);
}

/* Of a film: the request says what to do: "read SOURCE OFFSET SIZE TIMES", "write OFFSET SIZE
 * TIMES", "answer TEXT", "long". */
static void answer_film(const struct decoder_message *call) {
    struct decoder_message answer = {
        .magic = DECODER_MAGIC, .kind = DECODER_ANSWER, .number = call->number};
    struct decoder_message ask = answer;
    char text[100] = "";
    long long values[3] = {0};
    int times = 0;
    memcpy(text, window + DECODER_RANGE_AT, (size_t)MIN(call->values[0], (int64_t)99));
    if (sscanf(text, "read %lld %lld %lld %d", &values[2], &values[0], &values[1], &times) == 4) {
        ask.kind = DECODER_READ;
    } else if (sscanf(text, "write %lld %lld %d", &values[0], &values[1], &times) == 3) {
        ask.kind = DECODER_WRITE;
    }
    for (int i = 0; i < times; i++) {
        struct decoder_message got;
        memcpy(ask.values, values, sizeof values);
        if (ask.kind == DECODER_WRITE) {
            memset(window + DECODER_RANGE_AT, 'w', 1000);
        }
        send_message(&ask, sizeof ask);
        if (recv(DECODER_SOCKET_FD, &got, sizeof got, 0) != (ssize_t)sizeof got) {
            _exit(0);
        }
        char seen[5] = "";
        memcpy(seen, window + DECODER_RANGE_AT, 4);
        answer.values[1] = snprintf(window + DECODER_RANGE_AT, 40, "[%lld, \"%s\"]",
                                    (long long)got.values[0], seen);
    }
    if (strncmp(text, "answer ", 7) == 0) {
        answer.values[1] = (int64_t)strlen(text + 7);
        memcpy(window + DECODER_RANGE_AT, text + 7, strlen(text + 7));
    } else if (strcmp(text, "long") == 0) {
        answer.values[1] = DECODER_REPLY_BYTES + 1;
    } else if (strcmp(text, "item") == 0) {
        answer.values[0] = READER_ITEM;
    }
    send_message(&answer, sizeof answer);
}

static int be_decoder(void) {
    struct decoder_message message = {.magic = DECODER_MAGIC, .kind = DECODER_HELLO};
    window = mmap(NULL, DECODER_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  DECODER_WINDOW_FD, 0);
    message.values[0] = confine_enter((int64_t)8 << 30);
    send_message(&message, sizeof message);
    while (recv(DECODER_SOCKET_FD, &message, sizeof message, 0) == (ssize_t)sizeof message) {
        answer_film(&message);
    }
    _exit(0);
}

/* ---- the tests ---- */

static int64_t read_letters(void *context, int64_t source, int64_t offset, void *data,
                            size_t size) {
    static const char *const sources[] = {"abcdefgh", "0123456789"};
    const char *text = sources[source];
    int64_t left = (int64_t)strlen(text) - offset;
    (void)context;
    size = left > 0 ? MIN(size, (size_t)left) : 0;
    memcpy(data, text + MIN(offset, (int64_t)strlen(text)), size);
    return (int64_t)size;
}

static int write_letters(void *context, int64_t offset, const void *data, size_t size) {
    char *to = context;
    if (offset == 4) {
        return -1; /* the disk is full */
    }
    CHECK(offset + (int64_t)size <= 1000);
    memcpy(to + offset, data, size);
    return 0;
}

/* A film's process reads the sources that there are, and writes no more than it may. */
static void test_films(void) {
    static const struct {
        const char *request, *text; /* the answer; or of the error, with its kind */
        enum error_kind kind;
    } rows[] = {
        {"read 0 2 4 1", "[4,\"cdef\"]", ERROR_NONE},
        {"read 1 8 9 1", "[2,\"89", ERROR_NONE},
        {"read 1 5000 9 2", "[0,", ERROR_NONE},
        {"write 0 10 3", "[10,\"wwww\"]", ERROR_NONE},
        {"write 990 10 1", "[10,", ERROR_NONE},
        {"answer {\"a\": 1}", "{\"a\":1}", ERROR_NONE},
        {"read 2 0 1 1", "read of a file that does not exist", ERROR_INVALID},
        {"read -1 0 1 1", "read of a file that does not exist", ERROR_INVALID},
        {"read 0 9 1 1", "read outside of the file", ERROR_INVALID},
        {"read 1 -1 1 1", "read outside of the file", ERROR_INVALID},
        {"read 1 0 4194305 1", "read of too many bytes", ERROR_INVALID},
        {"read 1 0 1 1000000", "the decoder read the file too often", ERROR_INVALID},
        {"write 991 10 1", "write outside of the file", ERROR_INVALID},
        {"write -1 10 1", "write outside of the file", ERROR_INVALID},
        {"write 9223372036854775807 1000 1", "write outside of the file", ERROR_INVALID},
        {"write 0 0 1", "write of too many bytes", ERROR_INVALID},
        {"write 0 4194305 1", "write of too many bytes", ERROR_INVALID},
        {"write 0 10 1000000", "the decoder wrote the film too often", ERROR_INVALID},
        {"write 4 10 1", "the storage failed", ERROR_CANCELLED},
        {"answer {\"a\": ", "the decoder's answer is not JSON", ERROR_INVALID},
        {"answer \xff", "the decoder's answer is not JSON", ERROR_INVALID},
        {"long", "answer too long", ERROR_INVALID},
        {"item", "unexpected answer", ERROR_INVALID},
    };
    struct decoder *decoder = decoder_new_video(DECODER_VIDEO_LIMITS);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char made[1000];
        struct decoder_files files = {.context = made,
                                      .source_bytes = 8,
                                      .source_count = 2,
                                      .total_bytes = 18,
                                      .write_max = 1000,
                                      .read = read_letters,
                                      .write = write_letters};
        struct error err = {0};
        AUTO(tree_freep) json_t *answer = NULL;
        int result = decoder_film(decoder, &files, rows[i].request, &answer, &err);
        AUTO(text_freep) char *text = result == 0 ? tree_canonical(answer) : x_strdup(err.text);
        CHECK_INT(err.kind, rows[i].kind);
        CHECK(strstr(text, rows[i].text));
        if (!strstr(text, rows[i].text)) {
            printf("# %s: %s\n", rows[i].request, text);
        }
    }
    decoder_free(decoder);
}

/* A frame's call has one source, and nothing to write to. */
static void test_no_films(void) {
    struct decoder_message message = {.magic = DECODER_MAGIC, .number = 1, .values = {0, 10}};
    static const uint32_t calls[] = {DECODER_IMAGE, DECODER_VIDEO_OPEN, DECODER_VIDEO_NEXT};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        struct decoder_wait wait = {.call = calls[i], .number = 1, .source_bytes = 100};
        const char *why = NULL;
        message.kind = DECODER_WRITE;
        CHECK(!decoder_message_check(&message, sizeof message, &wait, &why));
        CHECK_STR(why, "unexpected write");
        message.kind = DECODER_READ;
        message.values[2] = 1;
        CHECK(!decoder_message_check(&message, sizeof message, &wait, &why));
        message.values[2] = 0;
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "decoder") == 0) {
        return be_decoder();
    }
    setenv(DECODER_PROGRAM, "/proc/self/exe", 1);
    TEST(test_films);
    TEST(test_no_films);
    return TEST_END();
}
