// SPDX-License-Identifier: Apache-2.0
/* Notices, from a server that stands in for Azure's, Amazon's or Google's: it answers what the test
 * wants, also late, too much, nonsense, or nothing. */
#include "agent/launch/pod/notice.h"

#include "agent/launch/pod/notice_cloud.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the server ----------------------------------------------------------------------------- */

enum manner { FINE, BUSY, NONSENSE, ENDLESS, SILENT, CUT };
enum cloud { AZURE, AMAZON, GOOGLE, NOBODY, AZURE_ALONE, NO_KEY };

struct server {
    int fd, port;
    pthread_t thread;
    atomic_int cloud, manner, asked, asked_name, refused, bad_requests;
    atomic_bool stops;
    const char *_Atomic name, *_Atomic events; /* name: or token */
};

static void say(int fd, const char *text, size_t size) {
    ssize_t ignored = send(fd, text, size, MSG_NOSIGNAL);
    (void)ignored; /* a client that left */
}

static void say_status(int fd, const char *status, const char *body) {
    char head[256];
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
             status, strlen(body));
    say(fd, head, strlen(head));
    say(fd, body, strlen(body));
}

/* Version 2: a token first, which may be over; 404 while there is no notice. */
static void answer_as_amazon(struct server *server, int fd, const char *request) {
    AUTO(text_freep)
    char *header = x_printf("\r\nX-aws-ec2-metadata-token: %s\r\n", (const char *)server->name);
    if (text_starts(request, "PUT /latest/api/token HTTP") &&
        strstr(request, "\r\nX-aws-ec2-metadata-token-ttl-seconds: 21600\r\n")) {
        server->asked_name++;
        say_status(fd, "200 OK", server->name);
    } else if (!strstr(request, header)) {
        say_status(fd, "401 Unauthorized", "");
    } else if (text_starts(request, "GET /latest/meta-data/spot/instance-action HTTP")) {
        server->asked++;
        say_status(fd, *server->events ? "200 OK" : "404 Not Found", server->events);
    } else {
        say_status(fd, "404 Not Found", "");
    }
}

static void answer_as_google(struct server *server, int fd, const char *request) {
    if (!strstr(request, "\r\nMetadata-Flavor: Google\r\n")) {
        say_status(fd, "403 Forbidden", "missing header");
    } else if (!text_starts(request, "GET /computeMetadata/v1/instance/preempted HTTP")) {
        say_status(fd, "404 Not Found", "");
    } else {
        server->asked++;
        say_status(fd, "200 OK", server->events);
    }
}

static void answer_as_azure(struct server *server, int fd, const char *request) {
    bool is_name = strncmp(request, "GET /metadata/instance/compute/name?", 36) == 0;
    const char *body = is_name ? server->name : server->events;
    atomic_fetch_add(is_name ? &server->asked_name : &server->asked, 1);
    if (!strstr(request, "\r\nMetadata: true\r\n") || !strstr(request, "api-version=")) {
        server->bad_requests++;
    }
    switch ((enum manner)server->manner) {
    case SILENT:
        for (int i = 0; i < 6000 && !server->stops; i++) {
            poll(NULL, 0, 10);
        }
        return;
    case CUT:
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"Ev", 43);
        return;
    case BUSY:
        say(fd, "HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\n\r\n", 45);
        return;
    case NONSENSE:
        body = "<html>\x01\xFF";
        break;
    case ENDLESS:
        say(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
        for (int i = 0; i < 4096 && !server->stops; i++) {
            static const char spaces[4096] = {' '};
            say(fd, spaces, sizeof spaces);
        }
        return;
    case FINE:
        break;
    }
    say_status(fd, "200 OK", body);
}

static void answer(struct server *server, int fd, const char *request) {
    switch ((enum cloud)server->cloud) {
    case AZURE:
        answer_as_azure(server, fd, request);
        break;
    case AMAZON:
        answer_as_amazon(server, fd, request);
        break;
    case GOOGLE:
        answer_as_google(server, fd, request);
        break;
    case NOBODY:
        server->asked++;
        say_status(fd, "404 Not Found", "");
        break;
    case AZURE_ALONE: /* it is out of order at first; what it does not know is its fault */
        if (text_starts(request, "GET /metadata/") && server->refused++ == 0) {
            say_status(fd, "404 Not Found", "");
        } else if (text_starts(request, "GET /metadata/")) {
            answer_as_azure(server, fd, request);
        } else {
            say_status(fd, "501 Not Implemented", "");
        }
        break;
    case NO_KEY: /* Amazon's, behind a proxy that takes the token off */
        server->asked++;
        if (text_starts(request, "PUT /latest/api/token HTTP")) {
            say_status(fd, "200 OK", "AQAEAfirst==");
        } else {
            say_status(fd, "401 Unauthorized", "");
        }
    }
}

static void *serve(void *context) {
    struct server *server = context;
    while (!server->stops) {
        struct pollfd poll_fd = {.fd = server->fd, .events = POLLIN};
        if (poll(&poll_fd, 1, 20) <= 0) {
            continue;
        }
        int fd = accept(server->fd, NULL, NULL);
        char request[4096] = "";
        size_t size = 0;
        while (fd >= 0 && size < sizeof request - 1 && !strstr(request, "\r\n\r\n")) {
            ssize_t more = recv(fd, request + size, sizeof request - 1 - size, 0);
            if (more <= 0) {
                break;
            }
            size += (size_t)more;
            request[size] = 0;
        }
        answer(server, fd, request);
        close(fd);
    }
    return NULL;
}

static void server_start(struct server *server) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *server = (struct server){.name = "aks-spot-1-vmss_7", .events = "{\"Events\":[]}"};
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(server->fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(server->fd, 16) == 0);
    CHECK(getsockname(server->fd, (struct sockaddr *)&address, &size) == 0);
    server->port = ntohs(address.sin_port);
    CHECK_INT(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(struct server *server) {
    server->stops = true;
    pthread_join(server->thread, NULL);
    close(server->fd);
}

/* ---- the listener --------------------------------------------------------------------------- */

struct heard {
    atomic_int announced, failures, recoveries;
    struct notice_event event; /* the event after `told` */
};

static void on_announced(void *context, const struct notice_event *event) {
    struct heard *heard = context;
    heard->event = *event;
    atomic_fetch_add(&heard->announced, 1);
}

static void on_changed(void *context, const struct error *err) {
    struct heard *heard = context;
    atomic_fetch_add(err->kind ? &heard->failures : &heard->recoveries, 1);
}

static struct notice *start(const struct server *server, struct heard *heard) {
    struct error err = {0};
    struct notice *notice = NULL;
    AUTO(text_freep)
    char *url = x_printf("http://127.0.0.1:%d/metadata/scheduledevents?api-version=2020-07-01",
                         server->port);
    struct notice_options options = {.url = url,
                                     .every_ms = 20,
                                     .announced = on_announced,
                                     .changed = on_changed,
                                     .context = heard};
    CHECK_OK(notice_start(&options, &notice, &err), &err);
    return notice;
}

static bool comes(atomic_int *counter, int wanted) {
    for (int i = 0; i < 6000 && *counter < wanted; i++) {
        poll(NULL, 0, 10);
    }
    return *counter >= wanted;
}

static const char preempt[] =
    "{\"DocumentIncarnation\":2,\"Events\":[{\"EventId\":\"602d9444-d2cd\",\"EventStatus\":"
    "\"Scheduled\",\"EventType\":\"Preempt\",\"ResourceType\":\"VirtualMachine\",\"Resources\":"
    "[\"aks-spot-1-vmss_6\",\"AKS-spot-1-vmss_7\"],\"NotBefore\":\"Mon, 19 Sep 2016 18:29:47 "
    "GMT\",\"Description\":\"\",\"EventSource\":\"Platform\",\"DurationInSeconds\":-1}]}";

static void a_preemption_is_told_once(void) {
    struct server server;
    struct heard heard = {0};
    server_start(&server);
    struct notice *notice = start(&server, &heard);
    CHECK(comes(&server.asked, 3));
    CHECK_INT(heard.announced, 0);
    CHECK_INT(server.asked_name, 1);
    server.events = preempt;
    CHECK(comes(&heard.announced, 1));
    poll(NULL, 0, 100);
    notice_stop(notice);
    CHECK_INT(heard.announced, 1);
    CHECK_INT(heard.failures, 0);
    CHECK_STR(heard.event.type, "Preempt");
    CHECK_STR(heard.event.id, "602d9444-d2cd");
    CHECK_INT(server.bad_requests, 0);
    server_stop(&server);
}

static void each_cloud_is_understood(void) {
    static const struct {
        enum cloud cloud;
        const char *before, *nonsense, *after, *type;
        int64_t left_ms;
    } rows[] = {
        {AMAZON, "", "{}", "{\"action\": \"stop\", \"time\": \"2017-09-18T08:22:00Z\"}", "stop", 0},
        {AMAZON, "", "<html>", "{\"action\": \"terminate\"}", "terminate", 0},
        {GOOGLE, "FALSE", "true", "TRUE\n", "Preempt", NOTICE_GOOGLE_MS},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server server;
        struct heard heard = {0};
        server_start(&server);
        server.cloud = rows[i].cloud;
        server.name = "AQAEAfirst==";
        server.events = rows[i].before;
        struct notice *notice = start(&server, &heard);
        CHECK(comes(&server.asked, 2));
        CHECK_INT(heard.failures, 0);
        server.name = "AQAEAsecond=="; /* the first one is over */
        CHECK(comes(&server.asked, server.asked + 2));
        CHECK_INT(server.asked_name, rows[i].cloud == AMAZON ? 2 : 0);
        CHECK_INT(heard.failures, 0);
        server.events = rows[i].nonsense;
        CHECK(comes(&heard.failures, 1));
        CHECK_INT(heard.announced, 0);
        server.events = rows[i].after;
        CHECK(comes(&heard.announced, 1));
        notice_stop(notice);
        CHECK_STR(heard.event.type, rows[i].type);
        CHECK_INT(heard.event.left_ms, rows[i].left_ms);
        server_stop(&server);
    }
}

static void a_token_of_any_bytes_is_refused(void) {
    static const char *const bad[] = {"", "a b", "a\r\nX-More: b", "\xC3\xA4", "a\"b"};
    char key[NOTICE_KEY_MAX + 1], longest[NOTICE_KEY_MAX + 2];
    struct error err = {0};
    memset(longest, 'a', sizeof longest);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_INT(notice_read_key(&(struct notice_answer){200, bad[i], strlen(bad[i])}, key, &err),
                  -1);
        error_clear(&err);
    }
    CHECK_INT(notice_read_key(&(struct notice_answer){200, longest, sizeof longest}, key, &err),
              -1);
    error_clear(&err);
    CHECK_OK(notice_read_key(&(struct notice_answer){200, longest, NOTICE_KEY_MAX}, key, &err),
             &err);
    CHECK_INT(strlen(key), NOTICE_KEY_MAX);
}

/* Until one of the three answers, all of them are asked. */
static void a_server_that_begins_late_is_found(void) {
    struct server server;
    struct heard heard = {0};
    server_start(&server);
    server.cloud = NOBODY;
    server.events = "TRUE";
    struct notice *notice = start(&server, &heard);
    CHECK(comes(&heard.failures, 1));
    CHECK(server.asked >= NOTICE_CLOUDS);
    server.cloud = GOOGLE;
    CHECK(comes(&heard.announced, 1));
    CHECK_INT(heard.failures, 1);
    notice_stop(notice);
    server_stop(&server);
}

static void a_service_that_is_away_at_first_is_found(void) {
    struct server server;
    struct heard heard = {0};
    server_start(&server);
    server.cloud = AZURE_ALONE;
    server.events = preempt;
    struct notice *notice = start(&server, &heard);
    CHECK(comes(&heard.announced, 1));
    notice_stop(notice);
    server_stop(&server);
}

static void a_token_that_never_works_is_a_failure(void) {
    struct server server;
    struct heard heard = {0};
    server_start(&server);
    server.cloud = NO_KEY;
    server.events = "";
    struct notice *notice = start(&server, &heard);
    CHECK(comes(&heard.failures, 1));
    CHECK_INT(heard.recoveries, 0);
    notice_stop(notice);
    server_stop(&server);
}

static void a_server_in_trouble_is_asked_again(void) {
    static const enum manner manners[] = {BUSY, NONSENSE, ENDLESS, CUT};
    for (size_t i = 0; i < ARRAY_LEN(manners); i++) {
        struct server server;
        struct heard heard = {0};
        server_start(&server);
        server.manner = manners[i];
        server.events = preempt;
        struct notice *notice = start(&server, &heard);
        CHECK(comes(&heard.failures, 1));
        poll(NULL, 0, 50);
        CHECK_INT(heard.announced, 0);
        server.manner = FINE;
        CHECK(comes(&heard.announced, 1));
        CHECK_INT(heard.failures, 1); /* reported once, however often it fails */
        CHECK_INT(heard.recoveries, 1);
        notice_stop(notice);
        server_stop(&server);
    }
}

static void a_stop_waits_for_nobody(void) {
    struct server server;
    struct heard heard = {0};
    server_start(&server);
    server.manner = SILENT;
    struct notice *notice = start(&server, &heard);
    CHECK(comes(&server.asked_name, 1));
    int64_t from_ms = clock_monotonic_ms();
    notice_stop(notice);
    CHECK(clock_monotonic_ms() - from_ms < 30000);
    server_stop(&server);
    /* No server at all. */
    notice = start(&server, &heard);
    CHECK(comes(&heard.failures, 1));
    notice_stop(notice);
    notice_stop(NULL);
}

static void what_is_no_address_is_refused(void) {
    static const char *const urls[] = {"",
                                       "http://",
                                       "http:///x",
                                       "169.254.169.254/metadata",
                                       "https://169.254.169.254/metadata",
                                       "http://127.0.0.1:1"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct error err = {0};
        struct notice *notice = NULL;
        struct notice_options options = {.url = urls[i], .announced = on_announced};
        CHECK(notice_start(&options, &notice, &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
}

/* ---- events --------------------------------------------------------------------------------- */

static void events_are_judged(void) {
    static const struct {
        const char *events; /* of the list */
        int wanted;
        const char *type;
    } rows[] = {
        {"", 0, ""},
        {"{\"EventType\":\"Preempt\",\"Resources\":[\"vm_1\"]}", 1, "Preempt"},
        {"{\"EventType\":\"Preempt\",\"Resources\":[\"vm_10\",\"vm_\",\"\"]}", 0, ""},
        {"{\"EventType\":\"Preempt\",\"Resources\":\"vm_1\"}", 0, ""},
        {"{\"EventType\":\"Freeze\",\"Resources\":[\"vm_1\"]}", 0, ""},
        {"{\"EventType\":\"Unheard-of\",\"Resources\":[\"vm_1\"]}", 0, ""},
        /* the time is 18:29:00 */
        {"{\"EventType\":\"Preempt\",\"NotBefore\":\"Mon, 19 Sep 2016 19:29:47 GMT\","
         "\"Resources\":[\"vm_1\"]}",
         1, "Preempt"},
        {"{\"EventType\":\"Redeploy\",\"NotBefore\":\"Mon, 19 Sep 2016 18:29:47 GMT\","
         "\"Resources\":[\"vm_1\"]}",
         1, "Redeploy"},
        {"{\"EventType\":\"Redeploy\",\"NotBefore\":\"Mon, 26 Sep 2016 18:29:47 GMT\","
         "\"Resources\":[\"vm_1\"]}",
         0, ""},
        {"{\"EventType\":\"Reboot\",\"EventStatus\":\"Started\",\"NotBefore\":\"\","
         "\"Resources\":[\"vm_1\"]}",
         1, "Reboot"},
        {"{\"EventType\":\"Terminate\",\"NotBefore\":\"Mon, 19 Sep 2016 18:29:47 GMT\","
         "\"Resources\":[\"vm_1\"]},{\"EventType\":\"Reboot\",\"NotBefore\":\"Mon, 19 Sep 2016 "
         "18:29:20 GMT\",\"Resources\":[\"vm_1\"]}",
         1, "Reboot"},
        {"null,7,[],{}", 0, ""},
    };
    int64_t now_ms = notice_time("Mon, 19 Sep 2016 18:29:00 GMT");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct notice_event event = {0};
        AUTO(text_freep) char *text = x_printf("{\"Events\":[%s]}", rows[i].events);
        CHECK_INT(notice_read(text, strlen(text), "vm_1", now_ms, &event, &err), rows[i].wanted);
        CHECK_STR(event.type, rows[i].type);
    }
}

static void what_is_no_list_is_an_error(void) {
    static const char *const texts[] = {"", "[]", "{}", "{\"Events\":7}", "{\"Events\":[}", "\xFF"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        struct notice_event event;
        CHECK_INT(notice_read(texts[i], strlen(texts[i]), "vm", 0, &event, &err), -1);
        CHECK(err.text[0] != 0);
    }
}

static void times_are_read(void) {
    CHECK_INT(notice_time("Mon, 19 Sep 2016 18:29:47 GMT"), 1474309787000);
    CHECK_INT(notice_time("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
    static const char *const bad[] = {"",
                                      "soon",
                                      "2016-09-19T18:29:47Z",
                                      "Mon, 19 Sep 2016 18:29:47 GMTx",
                                      "Mon, 19 Sep 2016 18:29:47",
                                      "Mon, 32 Sep 2016 18:29:47 GMT",
                                      "Mon, 19 epO 2016 18:29:47 GMT",
                                      "Mon, 19 Sep 2016 -1:29:47 GMT"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_INT(notice_time(bad[i]), -1);
    }
}

int main(void) {
    TEST(events_are_judged);
    TEST(what_is_no_list_is_an_error);
    TEST(times_are_read);
    TEST(what_is_no_address_is_refused);
    TEST(a_token_of_any_bytes_is_refused);
    TEST(a_preemption_is_told_once);
    TEST(each_cloud_is_understood);
    TEST(a_server_that_begins_late_is_found);
    TEST(a_service_that_is_away_at_first_is_found);
    TEST(a_token_that_never_works_is_a_failure);
    TEST(a_server_in_trouble_is_asked_again);
    TEST(a_stop_waits_for_nobody);
    return TEST_END();
}
