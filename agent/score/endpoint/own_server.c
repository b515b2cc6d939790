// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/own_server.h"

#include "agent/launch/pod/port.h"
#include "agent/score/scorer/code_files.h"
#include "agent/serve/presence.h"
#include "agent/serve/serve.h"
#include "agent/serve/serve_state.h"
#include "lib/environment.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/net/address.h"
#include "lib/text/text_list.h"
#include "lib/time/clock.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIELD "scorer.endpoint.server"
#define PORT "WINDLASS_PORT"

enum {
    ENDS_MAX = 3,       /* in a row, without an answer between */
    FAREWELL_MS = 4000, /* how long a child is waited for; it ends itself later, too */
    FAREWELL_STEP_MS = 20,
};

struct own_server {
    char *folder;
    int port;
    char port_text[8];
    int fd;    /* our lock, of a child's; -1: the command has taken it (serve_command.h) */
    pid_t pid; /* of a child; 0: it is in another container */
    struct serve_state state;
    int64_t answers; /* at its last end */
    bool was_tried;  /* whether other pods reach it */
    int in_a_row;    /* ends without an answer between */
    json_t *spec;    /* its `scorer` and `code` */
    json_t *models;  /* the files that its command names (code_files.h): of a child before it was
                        started, in a pod when the worker began, beside it */
};

/* ---- its words and variables ---------------------------------------------------------------- */

/* As the kubelet does it in a pod, $(NAME) refers to a volume, the port, HOME, USER or an entry of
 * `environment` before it, and to nothing else that this process happens to have. */
struct variables {
    char **list;            /* "NAME=VALUE", NULL-ended */
    size_t inherited, used; /* from `inherited` on they are the server's own */
    const json_t *given;    /* spec.scorer.endpoint.server.environment */
};

/* The form that the definition asks of a volume's name. */
static bool is_volume_name(const char *name) {
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return *name >= 'a' && *name <= 'z' && !name[size] && name[size - 1] != '-';
}

static const char *variable(void *context, const char *name) {
    const struct variables *variables = context;
    size_t size = strlen(name);
    for (size_t i = variables->used; i > variables->inherited; i--) {
        const char *one = variables->list[i - 1];
        if (strncmp(one, name, size) == 0 && one[size] == '=') {
            return one + size + 1;
        }
    }
    bool is_standard = strcmp(name, "HOME") == 0 || strcmp(name, "USER") == 0;
    bool is_inherited = is_standard && !json_object_get(variables->given, name);
    return is_inherited || is_volume_name(name) ? getenv(name) : NULL;
}

static char **words_of(const struct own_server *server, const json_t *command,
                       struct variables *variables) {
    size_t count = json_array_size(command), used = 0;
    char **words = x_calloc(count + 5, sizeof *words);
    words[used++] = x_strdup("windlass-agent");
    words[used++] = x_strdup("serve");
    words[used++] = x_strdup(server->folder);
    words[used++] = x_strdup("--");
    for (size_t i = 0; i < count; i++) {
        const char *word = json_string_value(json_array_get(command, i));
        words[used++] = environment_expand(word ? word : "", variable, variables);
    }
    return words;
}

/* Ours without the job's, and those of the spec. */
static struct variables variables_of(const struct own_server *server, const json_t *given) {
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    struct variables made = {.given = given};
    made.list = x_calloc(count + json_object_size(given) + 2, sizeof *made.list);
    for (size_t i = 0; i < count; i++) {
        AUTO(text_freep) char *name = x_strndup(environ[i], strcspn(environ[i], "="));
        if (!text_starts(name, "WINDLASS_") && !json_object_get(given, name)) {
            made.list[made.used++] = x_strdup(environ[i]);
        }
    }
    made.inherited = made.used;
    made.list[made.used++] = x_printf(PORT "=%s", server->port_text);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)given, name, value) {
        const char *text = json_string_value(value);
        AUTO(text_freep) char *expanded = environment_expand(text ? text : "", variable, &made);
        made.list[made.used++] = x_printf("%s=%s", name, expanded);
    }
    return made;
}

/* ---- a child -------------------------------------------------------------------------------- */

/* It outlives us for as long as it ends the server. */
static int spawn(struct own_server *server, const json_t *given, struct error *err) {
    posix_spawnattr_t attributes;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    struct variables variables = variables_of(server, json_object_get(given, "environment"));
    char **words = words_of(server, json_object_get(given, "command"), &variables);
    int why = posix_spawn(&server->pid, "/proc/self/exe", NULL, &attributes, words, variables.list);
    posix_spawnattr_destroy(&attributes);
    text_list_free(words);
    text_list_free(variables.list);
    if (why != 0) {
        server->pid = 0;
        return error_from_errno(err, why, "cannot start spec." FIELD);
    }
    return 0;
}

/* Another program on this machine may have the port, and would be asked in place of the server. */
static int choose_port(struct own_server *server, const json_t *given, struct error *err) {
    struct address address;
    struct error taken = {0};
    if (tree_mentions(given, "$(" PORT ")")) {
        server->port = port_find_free("127.0.0.1", clock_monotonic_ns() / 1000 + getpid());
        return server->port > 0 ? 0
                                : error_set(err, ERROR_EXHAUSTED, "no port of 127.0.0.1 is free");
    }
    AUTO(text_freep) char *text = x_printf("127.0.0.1:%d", server->port);
    if (address_parse(text, &address, err) < 0) {
        return -1;
    }
    return address_probe(&address, &taken) == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec." FIELD ".port: %d is taken on this machine; write $(" PORT
                           ") in command, and a free port is chosen",
                           server->port);
}

static int start_child(struct own_server *server, const json_t *given, const char *pod_folder,
                       struct error *err) {
    server->folder = file_join(pod_folder, "server");
    if (choose_port(server, given, err) < 0 || file_remove_tree(server->folder, err) < 0 ||
        file_make_folders(server->folder, err) < 0 ||
        presence_hold(server->folder, SERVE_AGENT, &server->fd, err) < 0) {
        return -1;
    }
    snprintf(server->port_text, sizeof server->port_text, "%d", server->port);
    return spawn(server, given, err);
}

int own_server_open(const json_t *spec, struct own_server **ret_server, struct error *err) {
    const json_t *given = tree_get(spec, FIELD);
    const char *pod_folder = getenv("WINDLASS_FOLDER"), *shared = NULL;
    struct own_server *server = x_calloc(1, sizeof *server);
    server->fd = -1;
    server->port = (int)tree_integer(given, "port", 0);
    server->spec = json_pack("{s:O?, s:O?}", "scorer", json_object_get(spec, "scorer"), "code",
                             json_object_get(spec, "code"));
    if (code_files_list(server->spec, &server->models, err) < 0) {
        own_server_close(server);
        return -1;
    }
    int result = pod_folder ? start_child(server, given, pod_folder, err)
                            : environment_read("WINDLASS_SERVER", &shared, err);
    if (result < 0) {
        own_server_close(server);
        return -1;
    }
    server->folder = server->folder ? server->folder : x_strdup(shared);
    *ret_server = server;
    return 0;
}

void own_server_close(struct own_server *server) {
    if (!server) {
        return;
    }
    fd_closep(&server->fd);
    int64_t end_ms = clock_monotonic_ms() + FAREWELL_MS;
    while (server->pid > 0 && waitpid(server->pid, NULL, WNOHANG) == 0 &&
           clock_monotonic_ms() < end_ms) {
        poll(NULL, 0, FAREWELL_STEP_MS);
    }
    free(server->folder);
    json_decref(server->spec);
    json_decref(server->models);
    free(server);
}

int own_server_port(const struct own_server *server) {
    return server->port;
}

/* ---- how it fares --------------------------------------------------------------------------- */

static int check_end(struct own_server *server, int64_t answers, struct error *err) {
    const struct serve_state *state = &server->state;
    bool has_answered = answers > 0;
    enum error_kind kind = has_answered ? ERROR_UNAVAILABLE : ERROR_INVALID;
    if (state->is_final) {
        return error_set(err, kind, "endpoint.server cannot be started: %s", state->words);
    }
    if (server->in_a_row >= ENDS_MAX) {
        return error_set(err, kind, "endpoint.server ended %d times%s: %s", server->in_a_row,
                         has_answered ? " without an answer between" : " before it was ready",
                         state->words);
    }
    return 0;
}

int own_server_check_files(const struct own_server *server, struct error *err) {
    AUTO(tree_freep) json_t *now = NULL;
    if (code_files_list(server->spec, &now, err) < 0) {
        return -1;
    }
    return code_files_are_kept(server->models, now)
               ? 0
               : error_set(
                     err, ERROR_UNAVAILABLE,
                     "endpoint.server: files that its command names have changed since it was "
                     "started; restore them, or run the job with another output");
}

static int take_state(struct own_server *server, const struct serve_state *state, int64_t answers,
                      struct error *err) {
    int64_t ends = state->ends - server->state.ends;
    server->state = *state;
    if (ends <= 0) {
        return 0;
    }
    server->in_a_row = answers > server->answers ? 1 : server->in_a_row + (int)MIN(ends, 100);
    server->answers = answers;
    log_event(LOG_WARNING, "the model server has ended: %s", state->words);
    /* What is started again reads the files as they are now; the next worker lists them anew. */
    return check_end(server, answers, err) < 0 ? -1 : own_server_check_files(server, err);
}

/* Who reaches a model server is answered: it asks for nothing. */
static void warn_if_open(struct own_server *server) {
    server->was_tried = true;
    if (port_is_open(server->port)) {
        log_event(LOG_WARNING,
                  "the model server's port %d is open to other pods; write into spec." FIELD
                  ".command that it listens on 127.0.0.1 alone (--host 127.0.0.1)",
                  server->port);
    }
}

int own_server_look(struct own_server *server, int64_t answers, struct error *err) {
    struct serve_state state;
    struct error unread = {0};
    if (!server) {
        return 0;
    }
    if (answers > 0 && !server->was_tried) {
        warn_if_open(server);
    }
    if (serve_state_read(server->folder, &state, &unread) == 0 &&
        take_state(server, &state, answers, err) < 0) {
        return -1;
    }
    return presence_of(server->folder, SERVE_SERVER) == PRESENCE_GONE
               ? error_set(err, ERROR_UNAVAILABLE, "endpoint.server: its container has ended%s%s",
                           *server->state.words ? "; before that the server did: " : "",
                           server->state.words)
               : 0;
}
