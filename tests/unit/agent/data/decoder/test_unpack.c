// SPDX-License-Identifier: Apache-2.0
/* Pages of Parquet and .gz files, unpacked by the decoding process as here, and errors alike. This
 * program is also the decoder: a real one or, with THREADS_OF_ATTACKER, a process in the hands of
 * the one who made the file, which says what to do. */
#include "agent/data/decoder/confine.h"
#include "agent/data/decoder/decoder.h"
#include "agent/data/decoder/decoder_call.h"
#include "agent/data/decoder/decoder_child.h"
#include "agent/data/decoder/decoder_message.h"
#include "agent/data/decoder/decoder_process.h"
#include "agent/data/input/media.h"
#include "tests/test.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define THREADS_OF_ATTACKER "7" /* one of two variables that a decoder gets */

enum { ROOM = 1 << 16, TEXT = 50000, LARGE = 5000000, MARK_AT = DECODER_PICTURE_AT };

/* ---- the attacker ---- */

static char *window; /* and a bit more: what is behind the file is memory that cannot be had */

/* As if by the machine, by SIGBUS: the filter of calls forbids to kill. */
static void die(void) {
    ((volatile char *)window)[DECODER_WINDOW_BYTES] = 1;
}

static void say(uint32_t kind, uint64_t number, int64_t first, int64_t second) {
    struct decoder_message message = {
        .magic = DECODER_MAGIC, .kind = kind, .number = number, .values = {first, second}};
    (void)!send(DECODER_SOCKET_FD, &message, sizeof message, MSG_NOSIGNAL);
}

static void hear(struct decoder_message *message) {
    if (recv(DECODER_SOCKET_FD, message, sizeof *message, 0) != (ssize_t)sizeof *message) {
        _exit(0);
    }
}

static void do_as_told(const char *wish, uint64_t number) {
    struct decoder_message ignored;
    char *words[] = {(char *)"true", NULL};
    if (strcmp(wish, "execve") == 0) {
        execve("/bin/true", words, NULL);
    } else if (strcmp(wish, "exit") == 0) {
        _exit(3);
    } else if (strcmp(wish, "item") == 0) {
        say(DECODER_ANSWER, number, READER_ITEM, 1);
    } else if (strcmp(wish, "write") == 0) {
        say(DECODER_WRITE, number, 0, 10);
    } else if (strcmp(wish, "twice") == 0) {
        say(DECODER_WRITE, number, 0, 10);
        hear(&ignored);
        say(DECODER_WRITE, number, 0, 10);
    } else if (strcmp(wish, "beyond") == 0) {
        say(DECODER_WRITE, number, (int64_t)1 << 60, 1);
    } else if (strcmp(wish, "backwards") == 0) {
        say(DECODER_WRITE, number, -1, 10);
    } else if (strcmp(wish, "dies") == 0 || (strcmp(wish, "once") == 0 && !window[MARK_AT])) {
        window[MARK_AT] = 1; /* the next process sees it, too */
        die();
    } else if (strcmp(wish, "late") == 0) {
        say(DECODER_WRITE, number, 0, 10);
        hear(&ignored);
        die();
    } else if (strcmp(wish, "once") == 0) {
        say(DECODER_WRITE, number, 0, 10);
        hear(&ignored);
        say(DECODER_ANSWER, number, READER_END, 0);
    } else if (strcmp(wish, "read") == 0) {
        say(DECODER_READ, number, 1000, 10);
    }
    hear(&ignored); /* until it is killed */
}

_Noreturn static void attack(void) {
    struct decoder_message call;
    signal(SIGBUS, SIG_DFL); /* also of a build with sanitizers */
    window = mmap(NULL, DECODER_WINDOW_BYTES + ROOM, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, DECODER_WINDOW_FD, 0);
    say(DECODER_HELLO, 0, confine_enter((int64_t)8 << 30), 0);
    for (;;) {
        char wish[20] = "";
        hear(&call);
        uint64_t number = call.number;
        if (call.kind == DECODER_GUNZIP) {
            int64_t size = MIN(call.values[1], (int64_t)sizeof wish - 1);
            say(DECODER_READ, number, 0, size);
            hear(&call);
            memcpy(wish, window + DECODER_RANGE_AT, (size_t)size);
        } else {
            memcpy(wish, window + DECODER_FILE_AT,
                   (size_t)MIN(call.values[0], (int64_t)sizeof wish - 1));
        }
        do_as_told(wish, number);
    }
}

/* ---- the tests ---- */

static uint8_t text[TEXT];

static void make_text(void) {
    for (size_t i = 0; i < TEXT; i++) {
        text[i] = (uint8_t)(i * i % 251);
    }
}

static void check_page(int codec, const uint8_t *packed, size_t packed_size, size_t size) {
    uint8_t here[ROOM], there[ROOM];
    struct error err = {0};
    struct parquet_unpack_bytes in = {packed, packed_size};
    parquet_unpack_by(NULL);
    CHECK_OK(parquet_unpack(codec, in, here, size, &err), &err);
    parquet_unpack_by(decoder_pool_unpack);
    CHECK_OK(parquet_unpack(codec, in, there, size, &err), &err);
    CHECK(memcmp(here, there, size) == 0);
    for (size_t cut = 1; cut < MIN(packed_size, (size_t)20); cut++) {
        struct error cause[2] = {{0}, {0}};
        for (int i = 0; i < 2; i++) {
            parquet_unpack_by(i ? decoder_pool_unpack : NULL);
            struct parquet_unpack_bytes less = {packed, packed_size - cut};
            CHECK(parquet_unpack(codec, less, there, size, &cause[i]) < 0);
        }
        CHECK_INT(cause[1].kind, ERROR_INVALID);
        CHECK_STR(cause[1].text, cause[0].text);
    }
}

static void test_pages(void) {
    static const uint8_t brotli[] = {0x0b, 0x02, 0x80, 'h', 'e', 'l', 'l', 'o', 0x03};
    uint8_t packed[ROOM];
    uLongf size = sizeof packed;
    CHECK_INT(compress(packed, &size, text, TEXT), Z_OK);
    check_page(PARQUET_GZIP, packed, size, TEXT);
    check_page(PARQUET_ZSTD, packed, ZSTD_compress(packed, sizeof packed, text, TEXT, 3), TEXT);
    check_page(PARQUET_BROTLI, brotli, sizeof brotli, 5);
}

/* From decoder_choose on nothing of these libraries runs here. */
static void test_where(void) {
    uint8_t packed[ROOM], out[ROOM];
    struct error err = {0};
    size_t size = ZSTD_compress(packed, sizeof packed, text, TEXT, 3);
    struct parquet_unpack_bytes in = {packed, size}, plain = {text, TEXT};
    AUTO(text_freep) char *program = x_strdup(getenv(DECODER_PROGRAM));
    CHECK_OK(decoder_choose("/nowhere/windlass-agent", &err), &err);
    CHECK(parquet_unpack(PARQUET_ZSTD, in, out, TEXT, &err) < 0);
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    CHECK(strstr(err.text, "the decoder cannot start"));
    err = (struct error){0};
    CHECK_OK(parquet_unpack(PARQUET_UNCOMPRESSED, plain, out, TEXT, &err), &err); /* is ours */
    setenv(DECODER_POLICY, "off", 1);
    CHECK_OK(decoder_choose("/nowhere/windlass-agent", &err), &err);
    CHECK_OK(parquet_unpack(PARQUET_ZSTD, in, out, TEXT, &err), &err);
    unsetenv(DECODER_POLICY);
    CHECK_OK(decoder_choose(program, &err), &err);
}

/* Whatever the machine lacks: EXHAUSTED would skip a row as too large (row_reader.h). */
static void test_a_machine_that_starts_no_process(void) {
    static const int limits[] = {RLIMIT_NOFILE, RLIMIT_FSIZE};
    uint8_t packed[ROOM], out[ROOM];
    size_t size = ZSTD_compress(packed, sizeof packed, text, TEXT, 3);
    struct decoder_page page = {PARQUET_ZSTD, {packed, size}, TEXT};
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        struct rlimit was, none;
        struct error err = {0};
        CHECK_INT(getrlimit((__rlimit_resource_t)limits[i], &was), 0);
        none = (struct rlimit){.rlim_cur = 0, .rlim_max = was.rlim_max};
        struct decoder *decoder = decoder_new(DECODER_PICTURE_LIMITS);
        CHECK_INT(setrlimit((__rlimit_resource_t)limits[i], &none), 0);
        CHECK(decoder_unpack(decoder, &page, out, &err) < 0);
        CHECK_INT(setrlimit((__rlimit_resource_t)limits[i], &was), 0);
        CHECK_INT(err.kind, ERROR_UNAVAILABLE);
        CHECK(strstr(err.text, "no memory to share with a decoder"));
        error_clear(&err);
        CHECK_OK(decoder_unpack(decoder, &page, out, &err), &err);
        decoder_free(decoder);
    }
    signal(SIGXFSZ, SIG_DFL);
}

static char *pack(const char *data, size_t size, size_t *ret_size) {
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size};
    CHECK_INT(deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&stream, size);
    char *packed = x_malloc(room);
    stream.next_out = (Bytef *)packed;
    stream.avail_out = (uInt)room;
    CHECK_INT(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *ret_size = room - stream.avail_out;
    deflateEnd(&stream);
    return packed;
}

/* The rest of a packed file: it comes to its place with the first part that is unpacked. */
struct rest {
    char *place;
    const char *bytes;
    size_t size;
    int64_t taken;
};

static int take_and_fill(void *context, const void *data UNUSED, size_t size,
                         struct error *err UNUSED) {
    struct rest *rest = context;
    memcpy(rest->place, rest->bytes, rest->size);
    rest->taken += (int64_t)size;
    return 0;
}

/* The decoder begins to unpack after the first range, so that it never holds the whole file. */
static void check_ranges(const char *packed, size_t size) {
    AUTO(text_freep) char *filled = x_calloc(size, 1);
    struct rest rest = {.place = filled + DECODER_RANGE_BYTES,
                        .bytes = packed + DECODER_RANGE_BYTES,
                        .size = size - DECODER_RANGE_BYTES};
    struct error err = {0};
    memcpy(filled, packed, DECODER_RANGE_BYTES);
    CHECK_OK(decoder_gunzip(filled, size, &(struct gzip_sink){&rest, take_and_fill}, &err), &err);
    CHECK_INT(rest.taken, LARGE);
}

/* A file that is larger than the pieces in which it goes there and back. */
static void test_files(void) {
    AUTO(text_freep) char *data = x_malloc(LARGE);
    for (uint32_t i = 0, random = 1; i < LARGE; i++) {
        random = random * 1103515245 + 12345;
        data[i] = (char)(random >> 24);
    }
    size_t size = 0;
    AUTO(text_freep) char *packed = pack(data, LARGE, &size);
    AUTO(buffer_release) struct buffer there;
    struct error err = {0};
    buffer_init(&there, LARGE);
    struct gzip_sink sink = {&there, gzip_append};
    CHECK(size > DECODER_RANGE_BYTES);
    CHECK_OK(decoder_gunzip(packed, size, &sink, &err), &err);
    CHECK(there.size == LARGE && memcmp(there.data, data, LARGE) == 0);
    check_ranges(packed, size);
    CHECK(decoder_gunzip(packed, size, &sink, &err) < 0); /* the buffer is full */
    CHECK_STR(err.text, "has more than 5000000 bytes unpacked");
    err = (struct error){0};
    buffer_clear(&there);
    CHECK(decoder_gunzip(packed, size - 1, &sink, &err) < 0);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, "corrupt gzip: unexpected end");
    err = (struct error){0};
    CHECK(decoder_gunzip("", 0, &sink, &err) < 0);
    CHECK_INT(err.kind, ERROR_INVALID);
}

static int end_unpack(const char *wish, struct error *err) {
    uint8_t out[10];
    struct decoder *decoder = decoder_new(DECODER_PICTURE_LIMITS);
    struct decoder_page page = {PARQUET_ZSTD, {(const uint8_t *)wish, strlen(wish)}, sizeof out};
    int result = decoder_unpack(decoder, &page, out, err);
    decoder_free(decoder);
    return result;
}

static int end_gunzip(const char *wish, struct error *err) {
    AUTO(buffer_release) struct buffer there;
    buffer_init(&there, 1000);
    return decoder_gunzip(wish, strlen(wish), &(struct gzip_sink){&there, gzip_append}, err);
}

static void test_attackers(void) {
    static const struct {
        const char *wish, *unpack, *gunzip;
    } rows[] = {
        {"execve", "SIGSYS", "SIGSYS"},
        {"exit", "the decoder ended with exit code 3", "the decoder ended with exit code 3"},
        {"item", "unexpected answer", "unexpected answer"},
        {"write", "unexpected write", NULL},
        {"twice", "unexpected write", "a part out of turn"},
        {"beyond", "unexpected write", "write outside of the file"},
        {"backwards", "unexpected write", "write outside of the file"},
        {"read", "unexpected read", "read outside of the file"},
    };
    setenv("WINDLASS_THREADS", THREADS_OF_ATTACKER, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_confined = confine_possible() & CONFINE_CALLS;
        if (strcmp(rows[i].wish, "execve") == 0 && !is_confined) {
            continue;
        }
        struct error err = {0};
        CHECK(end_unpack(rows[i].wish, &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i].unpack));
        err = (struct error){0};
        if (rows[i].gunzip) {
            CHECK(end_gunzip(rows[i].wish, &err) < 0);
            CHECK_INT(err.kind, ERROR_INVALID);
            CHECK(strstr(err.text, rows[i].gunzip));
        }
    }
    unsetenv("WINDLASS_THREADS");
}

/* The machine's fault, as one that is killed from outside; once it is started again, unless it has
 * given a part already. */
static void test_ones_that_the_machine_ends(void) {
    static const char *const lost[] = {"dies", "late"};
    struct error err = {0};
    setenv("WINDLASS_THREADS", THREADS_OF_ATTACKER, 1);
    for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
        CHECK(end_gunzip(lost[i], &err) < 0);
        CHECK_INT(err.kind, ERROR_UNAVAILABLE);
        CHECK_STR(err.text, "the decoder ended by SIGBUS");
        error_clear(&err);
    }
    CHECK_OK(end_gunzip("once", &err), &err);
    unsetenv("WINDLASS_THREADS");
}

/* A page that no decoder is asked for is the file's fault, whatever ended the call before it. */
static void test_a_page_too_large_after_an_end(void) {
    static const uint8_t wish[] = {'d', 'i', 'e', 's'};
    uint8_t out[10];
    struct error err = {0};
    struct decoder *decoder = decoder_new(DECODER_PICTURE_LIMITS);
    struct decoder_page page = {PARQUET_ZSTD, {wish, sizeof wish}, sizeof out};
    setenv("WINDLASS_THREADS", THREADS_OF_ATTACKER, 1);
    CHECK(decoder_unpack(decoder, &page, out, &err) < 0);
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    error_clear(&err);
    page.size_out = (size_t)DECODER_PICTURE_BYTES + 1;
    CHECK(decoder_unpack(decoder, &page, out, &err) < 0);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(!decoder_is_interrupted(decoder));
    decoder_free(decoder);
    unsetenv("WINDLASS_THREADS");
}

static int kills; /* what the kernel counts, in place of the container's own number */

/* Takes the place of the C library's function in this program. */
__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode) {
    static char line[40];
    snprintf(line, sizeof line, "oom_kill %d\n", kills);
    return text_starts(path, "/sys/fs/cgroup/memory") /* of either version */
               ? fmemopen(line, strlen(line), "r")
               : ((FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen"))(path, mode);
}

static void unpack_with(struct decoder *decoder) {
    uint8_t packed[ROOM], out[ROOM];
    struct error err = {0};
    size_t size = ZSTD_compress(packed, sizeof packed, text, TEXT, 3);
    struct decoder_page page = {PARQUET_ZSTD, {packed, size}, TEXT};
    CHECK_OK(decoder_unpack(decoder, &page, out, &err), &err);
}

/* In a child: another process was killed for want of memory before the decoder began; then the
 * decoder is killed, with `more` kills counted. */
_Noreturn static void lose_decoder(int more) {
    decoder_share_fate();
    for (kills = 0; kills < 2; kills++) {
        struct decoder *decoder = decoder_new(DECODER_PICTURE_LIMITS);
        unpack_with(decoder);
        if (kills == 1) {
            kills += more;
            kill(decoder->process.pid, SIGKILL);
            unpack_with(decoder);
        }
        decoder_free(decoder);
    }
    _exit(test_failures > 0);
}

static void test_shared_fate(void) {
    for (int more = 0; more < 2; more++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            lose_decoder(more);
        }
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), more ? 128 + SIGKILL : 0);
    }
}

int main(int argc, char **argv) {
    const char *threads = getenv("WINDLASS_THREADS");
    if (argc == 2 && strcmp(argv[1], "decoder") == 0) {
        if (threads && strcmp(threads, THREADS_OF_ATTACKER) == 0) {
            attack();
        }
        return decoder_child_pictures(argc, argv);
    }
    setenv(DECODER_PROGRAM, "/proc/self/exe", 1);
    unsetenv("WINDLASS_THREADS");
    make_text();
    TEST(test_where);
    TEST(test_a_machine_that_starts_no_process);
    TEST(test_pages);
    TEST(test_files);
    TEST(test_attackers);
    TEST(test_ones_that_the_machine_ends);
    TEST(test_a_page_too_large_after_an_end);
    TEST(test_shared_fate);
    return TEST_END();
}
