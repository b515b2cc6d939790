// SPDX-License-Identifier: Apache-2.0
/* This program is also the decoder: started as one it confines itself as decoder_child.c does, and
 * then does what the "picture" says, like a process in the hands of the one who made the file. */
#include "agent/data/decoder/confine.h"
#include "agent/data/decoder/decoder.h"
#include "agent/data/decoder/decoder_message.h"
#include "agent/data/decoder/decoder_process.h"
#include "agent/data/input/media.h"
#include "lib/cgroup.h"
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 3, HEIGHT = 2 };

extern char **environ;

/* ---- the child ---- */

static char *window;
static int shrunk_errno;
static int killer = -1; /* a byte for it, and this process is killed from outside */

static void send_message(const struct decoder_message *message, size_t size) {
    (void)!send(DECODER_SOCKET_FD, message, size, MSG_NOSIGNAL);
}

static void send_text(struct decoder_message *answer, const char *text) {
    answer->kind = DECODER_FAILURE;
    answer->error_kind = ERROR_INVALID;
    snprintf(answer->text, sizeof answer->text, "%s", text);
}

static void send_errno(struct decoder_message *answer, const char *what, long result) {
    char text[200];
    snprintf(text, sizeof text, "%s: %s", what, result < 0 ? strerror(errno) : "allowed");
    send_text(answer, text);
}

static void look_at_environment(struct decoder_message *answer) {
    char text[300] = "environment:";
    for (char **variable = environ; *variable; variable++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, " %.20s", *variable);
    }
    send_text(answer, text);
}

/* What an attacker tries. */
static bool attack(const char *wish, struct decoder_message *answer) {
    char memory[8];
    struct iovec here = {memory, sizeof memory}, there = {environ, sizeof memory};
    char *words[] = {(char *)"true", NULL};
    if (strcmp(wish, "open") == 0) {
        send_errno(answer, wish, open("/etc/passwd", O_RDONLY));
    } else if (strcmp(wish, "create") == 0) {
        send_errno(answer, wish, open("/tmp/windlass-decoder-was-here", O_CREAT | O_WRONLY, 0600));
    } else if (strcmp(wish, "environ") == 0) {
        send_errno(answer, wish, open("/proc/self/environ", O_RDONLY));
    } else if (strcmp(wish, "socket") == 0) {
        send_errno(answer, wish, socket(AF_INET, SOCK_STREAM, 0));
    } else if (strcmp(wish, "connect") == 0) {
        send_errno(answer, wish, connect(DECODER_SOCKET_FD, NULL, 0));
    } else if (strcmp(wish, "execve") == 0) {
        send_errno(answer, wish, execve("/bin/true", words, NULL));
    } else if (strcmp(wish, "ptrace") == 0) {
        send_errno(answer, wish, ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
    } else if (strcmp(wish, "memory") == 0) {
        send_errno(answer, wish, process_vm_readv(getppid(), &here, 1, &there, 1, 0));
    } else if (strcmp(wish, "kill") == 0) {
        send_errno(answer, wish, kill(getppid(), 0));
    } else if (strcmp(wish, "abort parent") == 0) {
        send_errno(answer, wish, syscall(SYS_tgkill, getppid(), getppid(), SIGABRT));
    } else if (strcmp(wish, "fork") == 0) {
        send_errno(answer, wish, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    } else if (strcmp(wish, "code") == 0) {
        void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        send_errno(answer, wish, code == MAP_FAILED ? -1 : 0);
    } else {
        return false;
    }
    return true;
}

/* Answers that no honest decoder gives. */
static bool falsify(const char *wish, struct decoder_message *answer) {
    int number = -1;
    if (sscanf(wish, "false %d", &number) != 1) {
        return false;
    }
    switch (number) {
    case 0:
        answer->magic++;
        break;
    case 1:
        answer->number++;
        break;
    case 2:
        answer->kind = 99;
        break;
    case 3:
        answer->kind = DECODER_HELLO;
        break;
    case 4:
        answer->kind = DECODER_READ;
        break;
    case 5:
        answer->values[0] = READER_END;
        break;
    case 6:
        answer->values[0] = -1;
        break;
    case 7:
        answer->values[1] = 0;
        break;
    case 8:
        answer->values[2] = -5;
        break;
    case 9:
        answer->values[1] = MEDIA_SIDE_MAX + 1;
        break;
    case 10:
        answer->values[1] = answer->values[2] = MEDIA_SIDE_MAX;
        break;
    case 11:
        answer->values[1] = INT64_MAX;
        break;
    case 12:
        send_text(answer, "x");
        answer->error_kind = ERROR_EXHAUSTED;
        break;
    case 13:
        send_text(answer, "x");
        answer->error_kind = 4000000000U;
        break;
    case 14:
        send_text(answer, "x");
        memset(answer->text, 'y', sizeof answer->text);
        break;
    case 15:
        send_text(answer, "red \x1b[31m");
        break;
    case 16:
        send_text(answer, "half \xc3");
        break;
    case 17:
        send_text(answer, "");
        break;
    case 18:
        answer->kind = DECODER_VIDEO_NEXT;
        break;
    default:
        return false;
    }
    return true;
}

enum { LIES = 19 };

static void end_somehow(const char *wish) {
    if (strcmp(wish, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile int *)NULL = 1;
    } else if (strcmp(wish, "abort") == 0) {
        abort();
    } else if (strcmp(wish, "exit") == 0) {
        _exit(3);
    } else if (strcmp(wish, "spin") == 0) {
        for (volatile unsigned i = 0;; i = i + 1) {
        }
    } else if (strcmp(wish, "spin on") == 0) {
        signal(SIGXCPU, SIG_IGN);
        for (volatile unsigned i = 0;; i = i + 1) {
        }
    } else if (strncmp(wish, "silent", 6) == 0 || strncmp(wish, "killed", 6) == 0) {
        char *is_second = &window[DECODER_RANGE_AT]; /* the window outlives the process */
        if (strstr(wish, "once") && *is_second) {
            return;
        }
        *is_second = 1;
        (void)!write(killer, "x", *wish == 'k');
        while (nanosleep(&(struct timespec){.tv_sec = 100}, NULL) == 0) {
        }
        _exit(5); /* it cannot wait: that is refused */
    } else if (strcmp(wish, "hang up") == 0) {
        close(DECODER_SOCKET_FD); /* refused by the filter; then it is silent */
        _exit(0);
    }
}

static void answer_picture(const char *wish, const struct decoder_message *call) {
    struct decoder_message answer = {.magic = DECODER_MAGIC,
                                     .kind = DECODER_ANSWER,
                                     .number = call->number,
                                     .values = {READER_ITEM, WIDTH, HEIGHT}};
    size_t size = sizeof answer;
    for (int i = 0; i < 3 * WIDTH * HEIGHT; i++) {
        window[DECODER_PICTURE_AT + i] = (char)i;
    }
    end_somehow(wish);
    if (strcmp(wish, "variables") == 0) {
        look_at_environment(&answer);
    } else if (strcmp(wish, "shrink") == 0) {
        errno = shrunk_errno;
        send_errno(&answer, wish, shrunk_errno ? -1 : 0);
    } else if (strcmp(wish, "short") == 0) {
        size -= 1;
    } else if (strcmp(wish, "parts") == 0) {
        send_message(&answer, 8);
    } else if (!attack(wish, &answer)) {
        (void)falsify(wish, &answer);
    }
    if (strcmp(wish, "long") == 0) {
        char more[2 * sizeof answer] = {0};
        memcpy(more, &answer, sizeof answer);
        (void)!send(DECODER_SOCKET_FD, more, sizeof more, MSG_NOSIGNAL);
        return;
    }
    send_message(&answer, size);
}

/* Of a video: the request says what to ask for: "read OFFSET SIZE". */
static void answer_video(const struct decoder_message *call) {
    struct decoder_message answer = {
        .magic = DECODER_MAGIC, .kind = DECODER_ANSWER, .number = call->number};
    struct decoder_message read = {
        .magic = DECODER_MAGIC, .kind = DECODER_READ, .number = call->number};
    char text[100] = "";
    long long offset = 0, size = 0;
    int times = 0;
    memcpy(text, window + DECODER_RANGE_AT, (size_t)MIN(call->values[0], (int64_t)99));
    if (sscanf(text, "read %lld %lld %d", &offset, &size, &times) == 3) {
        read.values[0] = offset;
        read.values[1] = size;
        for (int i = 0; i < times; i++) {
            send_message(&read, sizeof read);
            if (recv(DECODER_SOCKET_FD, &answer, sizeof answer, 0) != (ssize_t)sizeof answer) {
                _exit(0);
            }
        }
        snprintf(text, sizeof text, "got %lld", (long long)answer.values[0]);
        send_text(&answer, text);
    }
    send_message(&answer, sizeof answer);
}

static void make_killer(void) {
    int ends[2] = {-1, -1};
    pid_t decoder = getpid();
    char byte;
    if (pipe(ends) == 0 && fork() == 0) {
        close(ends[1]);
        close(DECODER_SOCKET_FD);
        if (read(ends[0], &byte, 1) == 1) {
            kill(decoder, SIGKILL);
        }
        _exit(0);
    }
    close(ends[0]);
    killer = ends[1];
}

static int be_decoder(void) {
    struct decoder_message message = {.magic = DECODER_MAGIC, .kind = DECODER_HELLO};
    window = mmap(NULL, DECODER_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  DECODER_WINDOW_FD, 0);
    shrunk_errno = ftruncate(DECODER_WINDOW_FD, 4096) < 0 ? errno : 0;
    make_killer();
    message.values[0] = confine_enter((int64_t)8 << 30);
    send_message(&message, sizeof message);
    while (recv(DECODER_SOCKET_FD, &message, sizeof message, 0) == (ssize_t)sizeof message) {
        char wish[64] = "";
        if (message.kind == DECODER_IMAGE) {
            memcpy(wish, window + DECODER_FILE_AT, (size_t)MIN(message.values[0], (int64_t)63));
            answer_picture(wish, &message);
        } else {
            answer_video(&message);
        }
    }
    _exit(0);
}

/* ---- the tests ---- */

static struct decoder *decoder_of_test(void) {
    return decoder_new((struct decoder_limits){.silent_ms = 60000, .processor_seconds = 60});
}

static void check_works(struct decoder *decoder) {
    AUTO(picture_release) struct picture picture = {0};
    struct error err = {0};
    CHECK(decoder_image(decoder, "ok", 2, &picture, &err) == 0);
    CHECK_STR(err.text, "");
    CHECK(picture.width == WIDTH && picture.height == HEIGHT);
    for (int i = 0; picture.pixels && i < 3 * WIDTH * HEIGHT; i++) {
        CHECK(picture.pixels[i] == i);
    }
}

/* The wish fails with a text that has `part`; then the decoder works again. */
static void check_refused(struct decoder *decoder, const char *wish, const char *part) {
    struct picture picture = {0};
    struct error err = {0};
    CHECK(decoder_image(decoder, wish, strlen(wish), &picture, &err) < 0);
    CHECK(err.kind == ERROR_INVALID);
    CHECK(strstr(err.text, part));
    if (!strstr(err.text, part)) {
        printf("# %s: %s (expected %s)\n", wish, err.text, part);
    }
    picture_release(&picture);
    check_works(decoder);
}

static void test_attacks(void) {
    static const struct {
        const char *wish, *refused;
    } rows[] = {
        {"open", "open: Operation not permitted"},
        {"create", "create: Operation not permitted"},
        {"environ", "environ: Operation not permitted"},
        {"code", "code: Operation not permitted"},
        {"socket", "SIGSYS"},
        {"connect", "SIGSYS"},
        {"execve", "SIGSYS"},
        {"ptrace", "SIGSYS"},
        {"memory", "SIGSYS"},
        {"kill", "SIGSYS"},
        {"abort parent", "SIGSYS"},
        {"fork", "SIGSYS"},
    };
    struct decoder *decoder = decoder_of_test();
    for (size_t i = 0; i < ARRAY_LEN(rows) && (confine_possible() & CONFINE_CALLS); i++) {
        check_refused(decoder, rows[i].wish, rows[i].refused);
    }
    decoder_free(decoder);
}

static int forks;

static void count_fork(void) {
    forks++;
}

/* A fork after MPI_Init can break memory that is registered with a network card. */
static void test_no_fork(void) {
    struct decoder *decoder = decoder_of_test();
    CHECK_INT(pthread_atfork(count_fork, NULL, NULL), 0);
    check_refused(decoder, "exit", "the decoder ended with exit code 3");
    CHECK_INT(forks, 0);
    decoder_free(decoder);
}

static void test_nothing_of_parent(void) {
    struct decoder *decoder = decoder_of_test();
    setenv("WINDLASS_TOKEN", "secret", 1);
    setenv("WINDLASS_THREADS", "1", 1);
    check_refused(decoder, "variables", "environment: WINDLASS_THREADS=1");
    struct picture none;
    struct error err = {0};
    CHECK(decoder_image(decoder, "variables", 9, &none, &err) < 0 && !strstr(err.text, "TOKEN"));
    check_refused(decoder, "shrink", "shrink: Operation not permitted");
    decoder_free(decoder);
}

static void test_lies(void) {
    struct decoder *decoder = decoder_of_test();
    for (int i = 0; i < LIES; i++) {
        char wish[16];
        snprintf(wish, sizeof wish, "false %d", i);
        check_refused(decoder, wish, "invalid message from the decoder: ");
    }
    check_refused(decoder, "short", "invalid message");
    check_refused(decoder, "long", "invalid message");
    check_refused(decoder, "parts", "invalid message");
    decoder_free(decoder);
}

static void test_ends(void) {
    struct decoder *decoder = decoder_of_test();
    if (confine_possible() & CONFINE_CALLS) { /* a sanitizer catches it, and exits */
        check_refused(decoder, "crash", "the decoder ended by SIGSEGV");
        check_refused(decoder, "abort", "the decoder ended by SIGABRT");
    }
    check_refused(decoder, "exit", "the decoder ended with exit code 3");
    decoder_free(decoder);
}

static void test_spent(void) {
    static const char *const rows[][2] = {{"spin", "the decoder ended by SIGXCPU"},
                                          {"spin on", "the decoder used more processor time"}};
    struct decoder *decoder = decoder_new((struct decoder_limits){60000, 1});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct picture none;
        struct error err = {0};
        CHECK(decoder_image(decoder, rows[i][0], strlen(rows[i][0]), &none, &err) < 0);
        CHECK(err.kind == ERROR_INVALID && strstr(err.text, rows[i][1]));
        CHECK(decoder_is_lost(decoder) && decoder_is_slow(decoder));
    }
    decoder_free(decoder);
}

/* Silence and a kill from outside are not by the file: once more, then the machine is at fault. */
static void test_interrupted(void) {
    static const struct {
        const char *wish, *text;
        int silent_ms;
        enum error_kind kind;
    } rows[] = {
        {"silent", "the decoder was silent for too long", 1000, ERROR_UNAVAILABLE},
        {"silent once", "", 5000, ERROR_NONE},
        {"killed", "the decoder ended by SIGKILL", 60000, ERROR_EXHAUSTED},
        {"killed once", "", 60000, ERROR_NONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct decoder *decoder = decoder_new((struct decoder_limits){rows[i].silent_ms, 60});
        AUTO(picture_release) struct picture picture = {0};
        struct error err = {0};
        bool fails = rows[i].kind != ERROR_NONE;
        int result = decoder_image(decoder, rows[i].wish, strlen(rows[i].wish), &picture, &err);
        CHECK(result == (fails ? -1 : 0) && err.kind == rows[i].kind);
        CHECK_STR(err.text, rows[i].text);
        CHECK(decoder_is_interrupted(decoder) == fails);
        CHECK(!decoder_is_lost(decoder) && !decoder_is_slow(decoder));
        decoder_free(decoder);
    }
}

static int64_t read_zeros(void *context, int64_t offset, void *data, size_t size) {
    (void)offset;
    memset(data, 0, size);
    return *(bool *)context ? -1 : (int64_t)size;
}

static void test_reads(void) {
    static const struct {
        const char *request, *text;
        bool fails;
        enum error_kind kind;
    } rows[] = {
        {"read 0 1000 1", "got 1000", false, ERROR_INVALID},
        {"read 990 1000 1", "got 10", false, ERROR_INVALID},
        {"read 1000 10 1", "got 0", false, ERROR_INVALID},
        {"read -1 10 1", "outside of the file", false, ERROR_INVALID},
        {"read 1001 10 1", "outside of the file", false, ERROR_INVALID},
        {"read 0 0 1", "too many bytes", false, ERROR_INVALID},
        {"read 0 -7 1", "too many bytes", false, ERROR_INVALID},
        {"read 0 4194305 1", "too many bytes", false, ERROR_INVALID},
        {"read 0 4194304 1000", "too often", false, ERROR_INVALID},
        {"read 0 10 1", "the storage failed", true, ERROR_CANCELLED},
    };
    struct decoder *decoder = decoder_of_test();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool fails = rows[i].fails;
        struct decoder_source source = {.context = &fails, .size_bytes = 1000, .read = read_zeros};
        struct error err = {0};
        CHECK(decoder_video_open(decoder, &source, rows[i].request, 0, &err) < 0);
        CHECK(err.kind == rows[i].kind);
        CHECK(strstr(err.text, rows[i].text));
    }
    decoder_free(decoder);
}

/* A process that ended while it was idle is not a fault of the next picture. */
static void test_killed(void) {
    struct decoder *decoder = decoder_of_test();
    check_works(decoder);
    CHECK(system("pkill -9 -P $PPID -f 'windlass-decode[r]'") == 0);
    check_works(decoder);
    decoder_free(decoder);
}

static struct decoder_pool *pool;
static pthread_barrier_t all;
static _Atomic int decoded;

static void *use_pool(void *unused) {
    for (int i = 0; i < 5; i++) {
        struct picture picture = {0};
        struct error err = {0};
        decoded += decoder_pool_image(pool, "ok", 2, &picture, &err) == 0;
        picture_release(&picture);
    }
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all); /* the decoders of a thread end with it */
    return unused;
}

/* More threads than processors share as many decoders as there are processors. */
static void test_pool(void) {
    enum { THREADS_MAX = 64 };
    pthread_t threads[THREADS_MAX];
    int processors = cgroup_usable_processors(NULL), count = MIN(processors + 4, (int)THREADS_MAX);
    char command[160];
    pool = decoder_pool_new();
    pthread_barrier_init(&all, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) {
        CHECK(pthread_create(&threads[i], NULL, use_pool, NULL) == 0);
    }
    pthread_barrier_wait(&all);
    snprintf(command, sizeof command,
             "n=$(pgrep -c -P $PPID -f 'windlass-decode[r]'); test $n -ge 1 -a $n -le %d",
             processors);
    CHECK(system(command) == 0);
    pthread_barrier_wait(&all);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(decoded == 5 * count);
    pthread_barrier_destroy(&all);
    decoder_pool_free(pool);
}

static void test_policy(void) {
    struct error err = {0};
    char *program = x_strdup(getenv(DECODER_PROGRAM));
    setenv(DECODER_POLICY, "off", 1);
    CHECK(decoder_choose("/x", &err) == 0 && !decoder_is_separate());
    setenv(DECODER_POLICY, "perhaps", 1);
    CHECK(decoder_choose("/x", &err) < 0);
    CHECK_STR(err.text, "WINDLASS_SANDBOX=perhaps: expected auto, required or off");
    error_clear(&err);
    setenv(DECODER_POLICY, "required", 1);
    CHECK(decoder_choose("/nowhere/windlass-agent", &err) == 0 && decoder_is_separate());
    struct decoder *decoder = decoder_new(DECODER_PICTURE_LIMITS);
    struct picture none;
    CHECK(decoder_image(decoder, "ok", 2, &none, &err) < 0 && err.kind == ERROR_UNAVAILABLE);
    CHECK(strstr(err.text, "the decoder cannot start: the decoder ended with exit code 127"));
    CHECK(!decoder_is_lost(decoder) && !decoder_is_interrupted(decoder)); /* no item has done it */
    decoder_free(decoder);
    unsetenv(DECODER_POLICY);
    setenv(DECODER_PROGRAM, program, 1);
    free(program);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "decoder") == 0) {
        return be_decoder();
    }
    setenv(DECODER_PROGRAM, "/proc/self/exe", 1);
    TEST(test_attacks);
    TEST(test_no_fork);
    TEST(test_nothing_of_parent);
    TEST(test_lies);
    TEST(test_ends);
    TEST(test_spent);
    TEST(test_interrupted);
    TEST(test_reads);
    TEST(test_killed);
    TEST(test_pool);
    TEST(test_policy);
    return TEST_END();
}
