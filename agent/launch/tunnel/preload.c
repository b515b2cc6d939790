// SPDX-License-Identifier: Apache-2.0
/* preload.c: keeps the ports of MPI's launchers (mpirun, orted, Hydra's proxies) closed to
 * strangers. Those programs listen on all addresses and do what anybody says who connects. This
 * library is loaded into them with LD_PRELOAD: what they listen on is on loopback only, and what
 * they connect to in another pod goes through the agents of both pods
 * (agent/launch/tunnel/tunnel.h), which know the job's token. Of Hydra's proxies it also notes that
 * a rank has not ended with 0, which otherwise only mpiexec would know. In every other program it
 * passes calls on: waitpid to the C library, where it is a cancellation point, and the others to
 * the kernel.
 *
 * Freestanding: it is loaded into programs of any image, with glibc or musl, so it calls the kernel
 * itself and needs nothing of a C library: errno and dlsym are used where they are. */
#include "agent/launch/tunnel/loaded_program.h"
#include "agent/launch/tunnel/preload_frame.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/net.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    PATH_MAX_BYTES = 4096,
    ANSWER_MS = 30000, /* for the other pod's agent, which may be far and busy */
    FAILED = 255,      /* the exit code of a proxy that cannot note a rank's end */
};

extern char **environ __attribute__((weak));
extern int *__errno_location(void) __attribute__((weak));
#pragma weak dlsym
/* Their names as the linker has them: the first three take the place of the C library's. The
 * compiler may call the others. */
EXPORT int preload_bind(int fd, const struct sockaddr *address, socklen_t size) __asm__("bind");
EXPORT int preload_connect(int fd, const struct sockaddr *address,
                           socklen_t size) __asm__("connect");
EXPORT int preload_wait(int pid, int *status, int options) __asm__("waitpid");
void *preload_copy(void *restrict to, const void *restrict from, size_t size) __asm__("memcpy");
void *preload_fill(void *to, int byte, size_t size) __asm__("memset");

/* ---- the kernel ------------------------------------------------------------------------------ */

static long call(long number, long a, long b, long c, long d, long e) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
#else
#error "system calls of this processor are unknown"
#endif
}

static int result_of(long result) {
    if (result < 0) {
        if (__errno_location) {
            *__errno_location() = (int)-result;
        }
        return -1;
    }
    return (int)result;
}

__attribute__((visibility("hidden"))) void *preload_copy(void *restrict to,
                                                         const void *restrict from, size_t size) {
    volatile char *end = to;
    const char *start = from;
    for (size_t i = 0; i < size; i++) {
        end[i] = start[i];
    }
    return to;
}

__attribute__((visibility("hidden"))) void *preload_fill(void *to, int byte, size_t size) {
    volatile char *end = to;
    for (size_t i = 0; i < size; i++) {
        end[i] = (char)byte;
    }
    return to;
}

static bool is_equal(const char *one, const char *other) {
    while (*one && *one == *other) {
        one++;
        other++;
    }
    return *one == *other;
}

/* ---- which program this is ------------------------------------------------------------------- */

static bool is_among(const char *const *names, size_t count, const char *name) {
    bool is_one = false;
    for (size_t i = 0; i < count; i++) {
        is_one |= is_equal(name, names[i]);
    }
    return is_one;
}

/* The name of the program's file; "": unknown. */
static const char *file_name(char room[static PATH_MAX_BYTES]) {
    long size =
        call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)room, PATH_MAX_BYTES - 1, 0);
    room[size > 0 ? size : 0] = 0;
    return loaded_program_name(room);
}

/* Of the program that a loader runs, from its command line. */
static const char *name_in_loader(char room[static PATH_MAX_BYTES],
                                  struct loaded_program *program) {
    long fd = call(SYS_openat, AT_FDCWD, (long)"/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0, 0);
    long size = fd < 0 ? fd : 1;
    while (size > 0 && !program->is_found) {
        size = call(SYS_read, fd, (long)room, PATH_MAX_BYTES, 0, 0);
        loaded_program_add(program, room, size > 0 ? (size_t)size : 0);
    }
    if (fd >= 0) {
        call(SYS_close, fd, 0, 0, 0, 0);
    }
    if (size == 0 && program->length > 0) {
        loaded_program_add(program, "", 1);
    }
    return program->is_found ? program->word : "";
}

/* The program's name, in room or *program; "": unknown. */
static const char *program_name(char room[static PATH_MAX_BYTES], struct loaded_program *program) {
    const char *name = file_name(room);
    return loaded_program_is_loader(name) ? name_in_loader(room, program) : name;
}

/* What cannot be judged counts as one: its port stays closed. */
static bool find_launcher(void) {
    static const char *const names[] = PRELOAD_LAUNCHERS;
    struct loaded_program program = {0};
    char room[PATH_MAX_BYTES];
    const char *name = program_name(room, &program);
    return !*name || is_among(names, sizeof names / sizeof *names, name);
}

static bool is_launcher(void) {
    static int known; /* 1: no, 2: yes. Threads that ask at once find the same */
    if (!known) {
        known = find_launcher() ? 2 : 1;
    }
    return known == 2;
}

/* The value of the variable of that name, which ends with "="; NULL: there is none. */
static const char *find_variable(const char *name) {
    for (char **one = &environ ? environ : NULL; one && *one; one++) {
        const char *at = *one, *expected = name;
        while (*expected && *at == *expected) {
            at++;
            expected++;
        }
        if (!*expected) {
            return at;
        }
    }
    return NULL;
}

static bool is_stream(int fd) {
    int type = 0;
    socklen_t size = sizeof type;
    return call(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, (long)&type, (long)&size) == 0 &&
           type == SOCK_STREAM;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static const uint8_t four_in_six[12] = {[10] = 0xff, [11] = 0xff};

static bool is_four(const struct sockaddr_in6 *six) {
    for (size_t i = 0; i < sizeof four_in_six; i++) {
        if (six->sin6_addr.s6_addr[i] != four_in_six[i]) {
            return false;
        }
    }
    return true;
}

static bool is_loopback_six(const struct sockaddr_in6 *six) {
    for (size_t i = 0; i < 15; i++) {
        if (six->sin6_addr.s6_addr[i]) {
            return is_four(six) && six->sin6_addr.s6_addr[12] == 127;
        }
    }
    return six->sin6_addr.s6_addr[15] == 1;
}

static bool is_outside(const struct sockaddr *address, socklen_t size) {
    if (address->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
        uint32_t host = ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr;
        return (host & htonl(0xff000000)) != htonl(0x7f000000);
    }
    return address->sa_family == AF_INET6 && size >= sizeof(struct sockaddr_in6) &&
           !is_loopback_six((const struct sockaddr_in6 *)(const void *)address);
}

/* ---- bind ------------------------------------------------------------------------------------ */

static long bind_four(int fd, struct sockaddr_in four) {
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return call(SYS_bind, fd, (long)&four, sizeof four, 0, 0);
}

/* A socket for both families, or one in a pod without ::1, gets IPv4's loopback: the agent of the
 * pod tries that first. */
static long bind_six(int fd, struct sockaddr_in6 six) {
    int only = 0, off = 0;
    long result = -EADDRNOTAVAIL;
    socklen_t size = sizeof only;
    call(SYS_getsockopt, fd, IPPROTO_IPV6, IPV6_V6ONLY, (long)&only, (long)&size);
    six.sin6_addr = (struct in6_addr){0};
    six.sin6_scope_id = 0;
    if (only) {
        six.sin6_addr.s6_addr[15] = 1;
        result = call(SYS_bind, fd, (long)&six, sizeof six, 0, 0);
    }
    if (result == -EADDRNOTAVAIL) {
        for (size_t i = 0; i < sizeof four_in_six; i++) {
            six.sin6_addr.s6_addr[i] = four_in_six[i];
        }
        six.sin6_addr.s6_addr[12] = 127;
        six.sin6_addr.s6_addr[15] = 1;
        call(SYS_setsockopt, fd, IPPROTO_IPV6, IPV6_V6ONLY, (long)&off, sizeof off);
        result = call(SYS_bind, fd, (long)&six, sizeof six, 0, 0);
    }
    return result;
}

int preload_bind(int fd, const struct sockaddr *address, socklen_t size) {
    if (!address || !is_launcher() || !is_outside(address, size) || !is_stream(fd)) {
        return result_of(call(SYS_bind, fd, (long)address, size, 0, 0));
    }
    return result_of(address->sa_family == AF_INET
                         ? bind_four(fd, *(const struct sockaddr_in *)(const void *)address)
                         : bind_six(fd, *(const struct sockaddr_in6 *)(const void *)address));
}

/* ---- connect --------------------------------------------------------------------------------- */

static int digit_of(char letter) {
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                                            : -1;
}

/* PRELOAD_VARIABLE=PORT:KEY, as the agent sets it where launchers of other pods start programs. */
static bool read_tunnel(int *ret_port, uint8_t key[static PRELOAD_KEY_SIZE]) {
    const char *at = find_variable(PRELOAD_VARIABLE "=");
    int port = 0;
    for (; at && *at >= '0' && *at <= '9' && port < 65536; at++) {
        port = 10 * port + (*at - '0');
    }
    bool is_right = at && *at++ == ':' && port > 0 && port < 65536;
    for (size_t i = 0; is_right && i < PRELOAD_KEY_SIZE; i++, at += 2) {
        int high = digit_of(at[0]), low = high < 0 ? -1 : digit_of(at[1]);
        is_right = low >= 0;
        key[i] = (uint8_t)(16 * (high & 15) + (low & 15));
    }
    *ret_port = port;
    return is_right;
}

static long wait_for(int fd, short events) {
    struct pollfd one = {.fd = fd, .events = events};
    struct timespec left = {.tv_sec = ANSWER_MS / 1000};
    long ready = -EINTR;
    while (ready == -EINTR) { /* the kernel counts `left` down */
        ready = call(SYS_ppoll, (long)&one, 1, (long)&left, 0, 8);
    }
    return ready > 0 ? 0 : ready < 0 ? ready : -ETIMEDOUT;
}

static void write_frame(uint8_t frame[static PRELOAD_FRAME_SIZE], const struct sockaddr *address,
                        const uint8_t key[static PRELOAD_KEY_SIZE]) {
    uint8_t *host = frame + PRELOAD_KEY_SIZE, *port = host + PRELOAD_HOST_SIZE;
    const uint8_t *from = four_in_six;
    size_t from_size = sizeof four_in_six, done = 0;
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    bool is_six = address->sa_family == AF_INET6;
    uint16_t number = ntohs(is_six ? six->sin6_port : four->sin_port);
    for (size_t i = 0; i < PRELOAD_KEY_SIZE; i++) {
        frame[i] = key[i];
    }
    for (; !is_six && done < from_size; done++) {
        host[done] = from[done];
    }
    from = is_six ? six->sin6_addr.s6_addr : (const uint8_t *)&four->sin_addr;
    for (size_t i = 0; done < PRELOAD_HOST_SIZE; i++, done++) {
        host[done] = from[i];
    }
    port[0] = (uint8_t)(number >> 8);
    port[1] = (uint8_t)number;
}

/* Sends the frame and waits for the answer, on a socket that blocks or not. */
static long ask(int fd, const uint8_t frame[static PRELOAD_FRAME_SIZE]) {
    uint8_t answer = 0;
    long result = 0;
    for (size_t sent = 0; sent < PRELOAD_FRAME_SIZE;) {
        result = wait_for(fd, POLLOUT);
        long got = result < 0 ? result
                              : call(SYS_sendto, fd, (long)(frame + sent),
                                     (long)(PRELOAD_FRAME_SIZE - sent), MSG_NOSIGNAL, 0);
        if (got < 0 && got != -EAGAIN && got != -EINTR) {
            return got;
        }
        sent += got > 0 ? (size_t)got : 0;
    }
    for (;;) {
        result = wait_for(fd, POLLIN);
        long got = result < 0 ? result : call(SYS_read, fd, (long)&answer, 1, 0, 0);
        if (got == 1) {
            return answer == PRELOAD_OPEN ? 0 : -ECONNREFUSED;
        }
        if (got != -EAGAIN && got != -EINTR) {
            return got < 0 ? got : -ECONNREFUSED;
        }
    }
}

static long connect_through(int fd, const struct sockaddr *address, int port,
                            const uint8_t key[static PRELOAD_KEY_SIZE]) {
    uint8_t frame[PRELOAD_FRAME_SIZE];
    bool is_six = address->sa_family == AF_INET6;
    int off = 0, why = 0;
    socklen_t size = sizeof why;
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = four.sin_port};
    for (size_t i = 0; i < sizeof four_in_six; i++) {
        six.sin6_addr.s6_addr[i] = four_in_six[i];
    }
    six.sin6_addr.s6_addr[12] = 127;
    six.sin6_addr.s6_addr[15] = 1;
    if (is_six) {
        call(SYS_setsockopt, fd, IPPROTO_IPV6, IPV6_V6ONLY, (long)&off, sizeof off);
    }
    long result = call(SYS_connect, fd, is_six ? (long)&six : (long)&four,
                       is_six ? sizeof six : sizeof four, 0, 0);
    if (result == -EINPROGRESS || result == -EINTR) {
        result = wait_for(fd, POLLOUT);
        if (result == 0) {
            result = call(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, (long)&why, (long)&size);
            result = result < 0 ? result : -why;
        }
    }
    write_frame(frame, address, key);
    result = result < 0 ? result : ask(fd, frame);
    if (result < 0) { /* Open MPI tries the next address with the same socket */
        struct sockaddr none = {.sa_family = AF_UNSPEC};
        call(SYS_connect, fd, (long)&none, sizeof none, 0, 0);
    }
    return result;
}

int preload_connect(int fd, const struct sockaddr *address, socklen_t size) {
    uint8_t key[PRELOAD_KEY_SIZE];
    int port = 0;
    if (!address || !is_launcher() || !is_outside(address, size) || !is_stream(fd) ||
        !read_tunnel(&port, key)) {
        return result_of(call(SYS_connect, fd, (long)address, size, 0, 0));
    }
    return result_of(connect_through(fd, address, port, key));
}

/* ---- the ranks of a proxy -------------------------------------------------------------------- */

/* 0: with 0, or not yet (it has stopped, or goes on). */
static int code_of(int status) {
    int signal = status & 0x7f;
    return signal == 0 ? status >> 8 & 0xff : signal == 0x7f ? 0 : 128 + signal;
}

/* The first one counts. If it cannot be noted the proxy ends, and has failed. */
static void note_end(const char *path, int code) {
    char text[4] = {(char)('0' + code / 100), (char)('0' + code / 10 % 10), (char)('0' + code % 10),
                    '\n'};
    long fd =
        call(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600, 0);
    if (fd == -EEXIST) {
        return;
    }
    if (fd < 0 || call(SYS_write, fd, (long)text, sizeof text, 0, 0) != sizeof text) {
        call(SYS_exit_group, FAILED, 0, 0, 0, 0);
    }
    call(SYS_close, fd, 0, 0, 0, 0);
}

static const char *ends; /* where a rank's end is noted; NULL: this is not a proxy */
static int (*next_wait)(int pid, int *status, int options);

/* So that ranks do not get it, nor the proxy of an mpiexec that a rank starts. */
static void drop_variable(void) {
    char **to = environ;
    for (char **from = environ; *from; from++) {
        if (!loaded_program_starts(*from, PRELOAD_ENDS "=")) {
            *to++ = *from;
        }
    }
    *to = NULL;
}

static void find_ends(const char *path) {
    static const char *const names[] = PRELOAD_PROXIES;
    struct loaded_program program = {0};
    char room[PATH_MAX_BYTES];
    const char *name = program_name(room, &program);
    if (is_among(names, sizeof names / sizeof *names, name)) {
        ends = path;
    }
    if (ends && !is_equal(name, PRELOAD_BOOTSTRAP)) {
        drop_variable();
    }
}

/* Before the program's first call: waitpid may be called in a signal handler, whose stack may be
 * small, and where dlsym must not be. */
__attribute__((constructor)) static void begin(void) {
    const char *path = find_variable(PRELOAD_ENDS "=");
    if (path) {
        find_ends(path);
    }
    if (dlsym) {
        next_wait = (int (*)(int, int *, int))dlsym(RTLD_NEXT, "waitpid");
    }
}

int preload_wait(int pid, int *status, int options) {
    int own = 0;
    int result = next_wait ? next_wait(pid, &own, options)
                           : result_of(call(SYS_wait4, pid, (long)&own, options, 0, 0));
    int code = result > 0 ? code_of(own) : 0;
    if (ends && code) {
        note_end(ends, code);
    }
    if (result > 0 && status) {
        *status = own;
    }
    return result;
}
