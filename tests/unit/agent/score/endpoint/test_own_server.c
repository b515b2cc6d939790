// SPDX-License-Identifier: Apache-2.0
/* The words and variables of a model server that a worker starts: $(NAME) as the kubelet does it in
 * the server's container. This program itself is started in place of the agent, and writes down
 * what it was given. */
#include "agent/score/endpoint/own_server.h"

#include "agent/score/scorer/code_files.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 60000, STEP_MS = 5 };

static char folder[] = "/tmp/windlass-own-server-XXXXXX";

/* program serve FOLDER -- WORD...: one a line, then the variables. */
static int write_down(char **words) {
    AUTO(text_freep) char *made = file_join(words[2], "saying");
    AUTO(text_freep) char *path = file_join(words[2], "said");
    FILE *file = fopen(made, "w");
    if (!file) {
        return 1;
    }
    for (char **word = words + 4; *word; word++) {
        fprintf(file, "%s\n", *word);
    }
    for (char **variable = environ; *variable; variable++) {
        fprintf(file, "%s\n", *variable);
    }
    return fclose(file) == 0 && rename(made, path) == 0 ? 0 : 1;
}

/* What a server of this spec was given. The caller frees. */
static char *said_by(const char *server_json, char ret_port[static 16]) {
    struct error err = {0};
    struct own_server *server = NULL;
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:{s:o}}}", "scorer", "endpoint", "server",
                             json_loads(server_json, 0, NULL));
    CHECK_OK(own_server_open(spec, &server, &err), &err);
    snprintf(ret_port, 16, "%d", own_server_port(server));
    AUTO(text_freep) char *path = x_printf("%s/server/said", folder);
    int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
    while (access(path, F_OK) != 0 && clock_monotonic_ms() < until_ms) {
        poll(NULL, 0, STEP_MS);
    }
    own_server_close(server);
    char *text = NULL;
    size_t size = 0;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    return text ? text : x_strdup("");
}

static bool has_line(const char *text, const char *line) {
    AUTO(text_freep) char *inner = x_printf("\n%s\n", line), *all = x_printf("\n%s", text);
    return strstr(all, inner) != NULL;
}

static void names_are_the_servers_own(void) {
    char port[16];
    AUTO(text_freep)
    char *said =
        said_by("{\"command\": [\"$(data)/m\", \"$(WINDLASS_PORT)\", \"$(FIRST)\", \"$(SECOND)\", "
                "\"$(HOME)\", \"$(OURS)\", \"$(WINDLASS_FOLDER)\", \"$$(data)\"], "
                "\"environment\": {\"FIRST\": \"$(data):$(USER)\", "
                "\"SECOND\": \"$(FIRST)/$(WINDLASS_PORT)$(THIRD)\", \"THIRD\": \"$(OURS)\"}, "
                "\"port\": 8000}",
                port);
    AUTO(text_freep) char *first = x_printf("/srv/data/m\n%s\n/srv/data:somebody\n", port);
    AUTO(text_freep) char *second = x_printf("/srv/data:somebody/%s$(THIRD)", port);
    AUTO(text_freep) char *variable = x_printf("SECOND=%s", second);
    AUTO(text_freep) char *given = x_printf("WINDLASS_PORT=%s", port);
    CHECK(text_starts(said, first));
    CHECK(has_line(said, second));
    CHECK(has_line(said, "/home/somebody\n$(OURS)\n$(WINDLASS_FOLDER)\n$(data)"));
    CHECK(has_line(said, variable));
    CHECK(has_line(said, "THIRD=$(OURS)"));
    CHECK(has_line(said, given));
    CHECK(!strstr(said, "WINDLASS_FOLDER="));
}

/* HOME of the spec in place of ours: before its entry there is none. */
static void an_entry_replaces_ours(void) {
    char port[16];
    AUTO(text_freep)
    char *said = said_by("{\"command\": [\"$(HOME)\", \"$(WINDLASS_PORT)\"], "
                         "\"environment\": {\"BEFORE\": \"$(HOME)\", \"HOME\": \"/tmp/$(USER)\"}}",
                         port);
    CHECK(text_starts(said, "/tmp/somebody\n"));
    CHECK(has_line(said, "BEFORE=$(HOME)"));
    CHECK(has_line(said, "HOME=/tmp/somebody"));
    CHECK(!has_line(said, "HOME=/home/somebody"));
}

static void write_model(const char *text) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/m.gguf", folder);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

static void models_are_those_of_the_start(void) {
    struct own_server *server = NULL;
    struct error err = {0};
    AUTO(tree_freep)
    json_t *spec =
        json_pack("{s:{s:{s:{s:[s], s:i}}}, s:{s:[s]}}", "scorer", "endpoint", "server", "command",
                  "$(WINDLASS_PORT)", "port", 8000, "code", "models", "net/m.gguf");
    setenv("net", folder, 1);
    write_model("one");
    CHECK_OK(own_server_open(spec, &server, &err), &err);
    CHECK_OK(own_server_check_files(server, &err), &err);
    write_model("another");
    CHECK(own_server_check_files(server, &err) < 0);
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    CHECK(text_starts(err.text, "endpoint.server: files that its command names have changed"));
    own_server_close(server);
}

int main(int argc, char **argv) {
    struct error err = {0};
    if (argc > 3 && strcmp(argv[1], "serve") == 0) {
        return write_down(argv);
    }
    CHECK(mkdtemp(folder));
    setenv("WINDLASS_FOLDER", folder, 1);
    setenv("data", "/srv/data", 1);
    setenv("HOME", "/home/somebody", 1);
    setenv("USER", "somebody", 1);
    setenv("OURS", "secret", 1);
    TEST(names_are_the_servers_own);
    TEST(an_entry_replaces_ours);
    TEST(models_are_those_of_the_start);
    (void)!file_remove_tree(folder, &err);
    return TEST_END();
}
