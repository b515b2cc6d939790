// SPDX-License-Identifier: Apache-2.0
/* The way from a launcher of one pod to a launcher of another, both on this machine's address:
 * launchers are copies of this program under their names, with the library loaded; where it cannot
 * be (sanitizers), and for strangers, the test speaks itself. */
#include "agent/launch/tunnel/tunnel.h"

#include "agent/launch/tunnel/launcher_port.h"
#include "agent/launch/tunnel/preload_frame.h"
#include "lib/base.h"
#include "lib/time/clock.h"
#include "tests/test.h"
#include "tests/unit/agent/launch/tunnel/programs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 60000, WORDS_MAX = 200, STRANGERS = 200, MANY = 150 };

static char address[46]; /* of this machine, not loopback; "": none */
static struct tunnel *tunnels[2];

/* ---- what a launcher does: the same program under another name ------------------------------- */

static struct sockaddr_in at(const char *host, int port) {
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, host, &four.sin_addr);
    return four;
}

/* Prints "ADDRESS PORT" where it really listens, and answers what it gets in capitals. */
static int listen_and_answer(const char *host) {
    struct sockaddr_in own = at(host, 0);
    socklen_t size = sizeof own;
    char text[WORDS_MAX];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&own, sizeof own) < 0 || listen(fd, 5) < 0 ||
        getsockname(fd, (struct sockaddr *)&own, &size) < 0) {
        return 1;
    }
    inet_ntop(AF_INET, &own.sin_addr, text, sizeof text);
    printf("%s %d\n", text, ntohs(own.sin_port));
    fflush(stdout);
    for (;;) {
        int one = accept(fd, NULL, NULL);
        ssize_t got = 0;
        while ((got = read(one, text, sizeof text)) > 0) {
            for (ssize_t i = 0; i < got; i++) {
                text[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i]);
            }
            got = write(one, text, (size_t)got);
        }
        close(one);
    }
}

/* The first address belongs to no one, with the same socket, as Open MPI does. */
static int connect_and_say(const char *host, int port, bool blocks) {
    struct sockaddr_in nobody = at("192.0.2.77", 9), other = at(host, port);
    char text[WORDS_MAX] = "";
    int fd = socket(AF_INET, SOCK_STREAM | (blocks ? 0 : SOCK_NONBLOCK), 0);
    int first = connect(fd, (struct sockaddr *)&nobody, sizeof nobody);
    if (first == 0 || errno != ECONNREFUSED) {
        printf("the first: %d\n", errno);
        return 1;
    }
    if (connect(fd, (struct sockaddr *)&other, sizeof other) < 0) {
        printf("%s\n", errno == ECONNREFUSED ? "refused" : strerror(errno));
        return 0;
    }
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (write(fd, "hello", 5) == 5 && poll(&ready, 1, WAIT_MS) == 1 &&
        read(fd, text, sizeof text - 1) > 0) {
        printf("%s\n", text);
    }
    return 0;
}

/* ---- with them ------------------------------------------------------------------------------- */

/* Where it listens. */
static int port_of(struct launcher *launcher, char host[static 46]) {
    int port = 0;
    CHECK_INT(fscanf(launcher->said, "%45s %d", host, &port), 2);
    return port;
}

/* On a busy machine the tunnels may close a handshake that is late: then once more. */
static void check_said(const char *name, const struct tunnel *tunnel, int port, bool blocks,
                       const char *wanted) {
    AUTO(text_freep) char *number = x_printf("%d", port);
    const char *words[] = {"connect", address, number, blocks ? "blocks" : "not"};
    char said[WORDS_MAX] = "";
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    do {
        struct launcher launcher = start(name, tunnel_variable(tunnel), words);
        if (!fgets(said, sizeof said, launcher.said)) {
            *said = 0;
        }
        said[strcspn(said, "\n")] = 0;
        stop(&launcher);
    } while (strcmp(said, wanted) != 0 && clock_monotonic_ms() < end_ms);
    CHECK_STR(said, wanted);
}

/* ---- the tunnels -------------------------------------------------------------------------------
 */

static void open_tunnels(const char *token, const char *other_token) {
    struct tunnel_host hosts[2] = {0};
    struct error err = {0};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tunnel_open(address, i ? other_token : token, i, true, &tunnels[i], &err), &err);
    }
    /* Both have this machine's address, so the first row is found: the pod of index 0. */
    hosts[0] = (struct tunnel_host){.index = 0, .port = tunnel_port(tunnels[0])};
    snprintf(hosts[0].address, sizeof hosts[0].address, "%s", address);
    tunnel_set_hosts(tunnels[0], hosts, 1);
    tunnel_set_hosts(tunnels[1], hosts, 1);
}

static void close_tunnels(void) {
    for (int i = 0; i < 2; i++) {
        tunnel_free(tunnels[i]);
        tunnels[i] = NULL;
    }
}

static int connect_to(const char *host, int port) {
    struct sockaddr_in other = at(host, port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(connect(fd, (struct sockaddr *)&other, sizeof other), 0);
    return fd;
}

/* What the agent answers to a launcher's frame for that port; 0: it has closed. */
static int ask(const struct tunnel *tunnel, int port, bool has_key, int *ret_fd) {
    uint8_t frame[PRELOAD_FRAME_SIZE] = {0}, *host = frame + PRELOAD_KEY_SIZE, answer = 0;
    const char *variable = tunnel_variable(tunnel), *digits = strchr(variable, ':') + 1;
    for (size_t i = 0; i < PRELOAD_KEY_SIZE; i++) {
        char two[3] = {digits[2 * i], digits[2 * i + 1], 0};
        frame[i] = (uint8_t)(strtoul(two, NULL, 16) ^ (has_key ? 0 : 1));
    }
    host[10] = host[11] = 0xff;
    inet_pton(AF_INET, address, host + 12);
    host[16] = (uint8_t)(port >> 8);
    host[17] = (uint8_t)port;
    *ret_fd = connect_to("127.0.0.1", (int)strtol(variable, NULL, 10));
    struct pollfd ready = {.fd = *ret_fd, .events = POLLIN};
    CHECK(write(*ret_fd, frame, sizeof frame) == (ssize_t)sizeof frame);
    CHECK_INT(poll(&ready, 1, WAIT_MS), 1);
    return read(*ret_fd, &answer, 1) == 1 ? answer : 0;
}

/* The same with the key, until it is let through: late handshakes are closed. */
static int ask_until_open(const struct tunnel *tunnel, int port) {
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    int fd = -1, answer = ask(tunnel, port, true, &fd);
    while (answer != PRELOAD_OPEN && clock_monotonic_ms() < end_ms) {
        close(fd);
        answer = ask(tunnel, port, true, &fd);
    }
    CHECK_INT(answer, PRELOAD_OPEN);
    return fd;
}

/* A real loader with such a list: the library and the agent read /proc. */
static void test_launcher_of_a_loader(void) {
    char host[46] = "";
    const char *loader = find_loader();
    if (!has_library || !loader) {
        SKIP("no library in this build, or another loader");
    }
    AUTO(text_freep) char *path = file_join(folder, "mpirun");
    AUTO(text_freep) char *list = x_printf("/lib:%0*d", 20000, 0);
    const char *words[] = {loader, "--library-path", list, path, "listen", "0.0.0.0", NULL};
    struct launcher launcher = start_program(loader, NULL, words);
    int port = port_of(&launcher, host);
    CHECK_STR(host, "127.0.0.1");
    CHECK_INT(launcher_port_find(port), LAUNCHER_PORT_FOUR);
    stop(&launcher);
}

static void test_launchers(void) {
    const char *listens[] = {"listen", "0.0.0.0", NULL, NULL};
    char host[46], other_host[46];
    if (!has_library || !*address) {
        SKIP("no library in this build, or no address but loopback");
    }
    struct launcher mpirun = start("mpirun", NULL, listens);
    struct launcher other = start("other", NULL, listens);
    int port = port_of(&mpirun, host), other_port = port_of(&other, other_host);
    CHECK_STR(host, "127.0.0.1");
    CHECK_STR(other_host, "0.0.0.0");
    CHECK_INT(launcher_port_find(port), LAUNCHER_PORT_FOUR);
    CHECK_INT(launcher_port_find(other_port), LAUNCHER_PORT_NONE);
    open_tunnels("token", "token");
    check_said("orted", tunnels[1], port, true, "HELLO");
    check_said("orted", tunnels[1], port, false, "HELLO");
    check_said("hydra_pmi_proxy", tunnels[1], other_port, true, "HELLO");
    stop(&mpirun);
    check_said("orted", tunnels[1], port, true, "refused");
    stop(&other);
    close_tunnels();
}

static int listen_here(const char *host, int *ret_port) {
    struct sockaddr_in own = at(host, 0);
    socklen_t size = sizeof own;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    CHECK_INT(listen(fd, 5), 0);
    getsockname(fd, (struct sockaddr *)&own, &size);
    *ret_port = ntohs(own.sin_port);
    return fd;
}

/* Bytes go both ways, and each way ends by itself. */
static void check_bytes(int near, int far) {
    char got[WORDS_MAX] = "";
    CHECK(write(near, "there", 5) == 5 && recv(far, got, 5, MSG_WAITALL) == 5);
    CHECK_STR(got, "there");
    shutdown(near, SHUT_WR);
    CHECK_INT(read(far, got, 1), 0);
    CHECK(write(far, "again", 5) == 5 && recv(near, got, 5, MSG_WAITALL) == 5);
    CHECK_STR(got, "again");
    close(far);
    CHECK_INT(read(near, got, 1), 0);
}

static void test_who_may(void) {
    int port = 0, hidden_port = 0, near = -1;
    if (!*address) {
        SKIP("no address but loopback");
    }
    int fd = listen_here(address, &port), hidden = listen_here("127.0.0.1", &hidden_port);
    open_tunnels("token", "token");
    near = ask_until_open(tunnels[1], port);
    check_bytes(near, accept4(fd, NULL, NULL, SOCK_CLOEXEC));
    close(near);
    CHECK_INT(ask(tunnels[1], port, false, &near), 0); /* another key */
    close(near);
    CHECK_INT(ask(tunnels[1], hidden_port, true, &near), 0); /* loopback, and not a launcher's */
    close(near);
    near = ask_until_open(tunnels[1], port);
    tunnel_set_hosts(tunnels[1], NULL, 0); /* the round ends, and its connections with it */
    struct pollfd ended = {.fd = near, .events = POLLIN};
    char none;
    CHECK(poll(&ended, 1, WAIT_MS) == 1 && read(near, &none, 1) == 0);
    close(near);
    CHECK_INT(ask(tunnels[1], port, true, &near), 0);
    close(near);
    close_tunnels();
    open_tunnels("token", "another token");
    CHECK_INT(ask(tunnels[1], port, true, &near), 0);
    close(near);
    close_tunnels();
    close(fd);
    close(hidden);
}

/* Whether the kernel answers a connection in time; it closes again without a word. */
static bool is_answered(const struct sockaddr_in *to) {
    struct pollfd made = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                          .events = POLLOUT};
    int why = 0;
    socklen_t size = sizeof why;
    bool is_made = connect(made.fd, (const struct sockaddr *)to, sizeof *to) == 0 ||
                   (errno == EINPROGRESS && poll(&made, 1, WAIT_MS) == 1 &&
                    getsockopt(made.fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0 && why == 0);
    fd_closep(&made.fd);
    return is_made;
}

/* It has a port for other pods, and none on loopback for programs of this one. */
static void test_without_launchers(void) {
    struct error err = {0};
    if (!*address) {
        SKIP("no address but loopback");
    }
    CHECK_OK(tunnel_open(address, "token", 0, false, &tunnels[0], &err), &err);
    CHECK(tunnel_port(tunnels[0]) > 0 && !tunnel_variable(tunnels[0]));
    struct sockaddr_in to = at(address, tunnel_port(tunnels[0]));
    CHECK(is_answered(&to));
    close_tunnels();
}

/* With strangers who connected before and say nothing: the tunnel's answer; *ret_open: how many of
 * them it has left open. */
static int ask_in_crowd(int port, int *ret_open) {
    int near = -1, strangers[STRANGERS];
    for (int i = 0; i < STRANGERS; i++) {
        strangers[i] = connect_to(address, tunnel_port(tunnels[0]));
    }
    int answer = ask(tunnels[1], port, true, &near);
    *ret_open = 0;
    for (int i = 0; i < STRANGERS; i++) {
        struct pollfd ended = {.fd = strangers[i], .events = POLLIN};
        *ret_open += poll(&ended, 1, 0) == 0;
        close(strangers[i]);
    }
    close(near);
    return answer;
}

/* Some strangers are left: the pod was let in before the tunnel's time limit ended them. Where both
 * came too late, there is another try with a new crowd. */
static void test_crowd(void) {
    int port = 0, open = 0;
    if (!*address) {
        SKIP("no address but loopback");
    }
    int fd = listen_here(address, &port);
    open_tunnels("token", "token");
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    int answer = ask_in_crowd(port, &open);
    while ((answer != PRELOAD_OPEN || open == 0) && clock_monotonic_ms() < end_ms) {
        answer = ask_in_crowd(port, &open);
    }
    CHECK_INT(answer, PRELOAD_OPEN);
    CHECK(open > 0 && open <= TUNNEL_PENDING_OF_ONE);
    close(fd);
    close_tunnels();
}

/* A connection from 127.0.PART.I to the tunnel of the first pod. */
static int connect_from(int part, int i) {
    char host[20];
    snprintf(host, sizeof host, "127.0.%d.%d", part, i + 1);
    struct sockaddr_in from = at(host, 0), to = at(address, tunnel_port(tunnels[0]));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    CHECK_INT(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static int count_open(const int *fds) {
    int open = 0;
    for (int i = 0; i < MANY; i++) {
        struct pollfd ended = {.fd = fds[i], .events = POLLIN};
        open += poll(&ended, 1, 0) == 0;
    }
    return open;
}

/* All pods of a round come at once, before strangers and after them. True: too many strangers were
 * dropped and none of the pods, before the tunnel's time limit ended the others. */
static bool has_room_for_pods(void) {
    int pods[MANY], strangers[MANY];
    for (int i = 0; i < MANY; i++) {
        pods[i] = connect_from(1, i);
        strangers[i] = connect_from(2, i);
    }
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    while (count_open(strangers) > TUNNEL_PENDING_MAX && clock_monotonic_ms() < end_ms) {
        poll(NULL, 0, 10);
    }
    int open = count_open(strangers);
    bool has_room = open > 0 && open <= TUNNEL_PENDING_MAX && count_open(pods) == MANY;
    for (int i = 0; i < MANY; i++) {
        close(pods[i]);
        close(strangers[i]);
    }
    return has_room;
}

static void test_pods_at_once(void) {
    struct tunnel_host hosts[MANY] = {0};
    if (!*address) {
        SKIP("no address but loopback");
    }
    open_tunnels("token", "token");
    for (int i = 0; i < MANY; i++) {
        hosts[i].index = i;
        snprintf(hosts[i].address, sizeof hosts[i].address, "127.0.1.%d", i + 1);
    }
    tunnel_set_hosts(tunnels[0], hosts, MANY);
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    bool has_room = has_room_for_pods();
    while (!has_room && clock_monotonic_ms() < end_ms) { /* the tunnel was late */
        has_room = has_room_for_pods();
    }
    CHECK(has_room);
    close_tunnels();
}

/* Who only asks whether there is an answer, as the check of connections does, gets one, though more
 * have come than the kernel's queue holds. */
static void test_more_than_the_queue(void) {
    enum { ALL = SOMAXCONN + 1000 };
    int answered = 0;
    if (!*address) {
        SKIP("no address but loopback");
    }
    open_tunnels("token", "token");
    struct sockaddr_in to = at(address, tunnel_port(tunnels[0]));
    while (answered < ALL && is_answered(&to)) {
        answered++;
    }
    CHECK_INT(answered, ALL);
    close_tunnels();
}

/* ---- this machine ---------------------------------------------------------------------------- */

static void find_address(void) {
    struct ifaddrs *all = NULL;
    for (struct ifaddrs *one = getifaddrs(&all) == 0 ? all : NULL; one; one = one->ifa_next) {
        bool is_four = one->ifa_addr && one->ifa_addr->sa_family == AF_INET;
        if (is_four && (one->ifa_flags & IFF_UP) && !(one->ifa_flags & IFF_LOOPBACK)) {
            inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)one->ifa_addr)->sin_addr, address,
                      sizeof address);
        }
    }
    freeifaddrs(all);
}

int main(int argc, char **argv) {
    static const char *const names[] = {"mpirun", "orted", "hydra_pmi_proxy", "other", NULL};
    if (argc > 2 && strcmp(argv[1], "listen") == 0) {
        return listen_and_answer(argv[2]);
    }
    if (argc > 4 && strcmp(argv[1], "connect") == 0) {
        return connect_and_say(argv[2], (int)strtol(argv[3], NULL, 10),
                               strcmp(argv[4], "blocks") == 0);
    }
    signal(SIGPIPE, SIG_IGN);
    find_address();
    make_programs(names);
    TEST(test_launcher_of_a_loader);
    TEST(test_launchers);
    TEST(test_who_may);
    TEST(test_without_launchers);
    TEST(test_crowd);
    TEST(test_pods_at_once);
    TEST(test_more_than_the_queue);
    remove_programs();
    return TEST_END();
}
