// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/member.h"

#include "agent/launch/crew.h"
#include "agent/launch/link.h"
#include "agent/launch/port.h"
#include "agent/launch/shell.h"
#include "agent/launch/words.h"
#include "lib/clock.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum {
    PREPARE = -2, /* ids of processes; others are ranks, and ... */
    COMMAND = -1,
    SPAWNED = 1 << 20, /* ... from here on what programs of other pods have started here */
    BUSY_MS = 20,      /* between two looks at what runs, ... */
    IDLE_MS = 200,
    ACKNOWLEDGE_MS = 500,
    BEAT_MS = 2000,
    GRACE_S = 25,       /* of the 30 s that a pod has when it is deleted */
    FAREWELL_MS = 1500, /* for the hub to hear of the end */
};

struct spawned {
    int id, index; /* here; the pod that asked, ... */
    int64_t asked; /* ... and its number there */
    struct spawned *next;
};

struct member {
    const struct launch_job *job;
    struct shell *shell;
    struct spawned *spawned;
    int last_spawned;
    struct hub *hub;
    struct socket_client *socket;
    struct link *link;
    struct crew *crew;
    char incarnation[33];
    char hub_name[64]; /* whom the link's numbers are about */
    int64_t seen;      /* the highest attempt of a hub */
    struct table table;
    int64_t round; /* of the table; 0: none */
    int master_port, port;
    bool is_prepared, is_preparing, has_failed, is_stopping;
    char failure[CREW_WORDS_MAX];
    int failure_code;
    int64_t alone_since_ms; /* without a hub; -1: not */
    int64_t leaving_since_ms, left_at_ms, beat_ms, acknowledged_ms, lines;
    char complaint[512];
    int exit_code; /* -1: go on */
};

/* ---- what is said --------------------------------------------------------------------------- */

static void send_text(void *context, const char *text) {
    socket_send(((struct member *)context)->socket, text);
}

static void say(struct member *member, struct gang_message *message) {
    message->round = message->round ? message->round : member->round;
    link_send(member->link, message);
}

static void fail(struct member *member, int code, const char *what, const char *words) {
    struct gang_message message = {.type = MESSAGE_FAILED, .code = code};
    snprintf(member->failure, sizeof member->failure, "%s%s%s", what, *words ? ": " : "", words);
    snprintf(message.words, sizeof message.words, "%s", member->failure);
    member->has_failed = true;
    member->failure_code = code;
    log_event(LOG_ERROR, "%s", member->failure);
    say(member, &message);
}

static void say_leaving(struct member *member) {
    int64_t used_ms = clock_monotonic_ms() - member->leaving_since_ms;
    struct gang_message message = {.type = MESSAGE_LEAVING,
                                   .seconds = (int)MAX(GRACE_S - used_ms / 1000 - 5, (int64_t)0),
                                   .words = "its pod is told to end"};
    say(member, &message);
}

/* ---- programs ------------------------------------------------------------------------------- */

static struct launch_world world_of(const struct member *member, int slot) {
    const struct launch_job *job = member->job;
    return (struct launch_world){.base = (const char *const *)environ,
                                 .table = &member->table,
                                 .launcher = job->launcher,
                                 .is_torchrun = job->is_torchrun,
                                 .index = job->index,
                                 .slot = slot,
                                 .gpus = job->gpus,
                                 .master_port = member->master_port,
                                 .job = job->name,
                                 .worker = job->worker,
                                 .logs = job->logs,
                                 .bin = job->bin,
                                 .run = job->run,
                                 .inputs = job->inputs,
                                 .outputs = job->outputs,
                                 .input_count = job->input_count,
                                 .output_count = job->output_count};
}

/* words: the first `assigned` ones are variables. */
static int start(struct member *member, int id, int slot, char *const *words, size_t assigned,
                 struct error *err) {
    struct launch_world world = world_of(member, slot);
    struct launch_variables variables;
    world.launcher = id == PREPARE ? LAUNCHER_NONE : world.launcher;
    launch_variables(&world, id == COMMAND ? LAUNCH_COMMAND : LAUNCH_PROCESS, &variables);
    for (size_t i = 0; i < assigned; i++) {
        const char *value = strchr(words[i], '=');
        AUTO(text_freep) char *name = x_strndup(words[i], (size_t)(value - words[i]));
        launch_variable_set(&variables, name, "%s", value + 1);
    }
    int result =
        crew_start(member->crew, id, (const char *const *)words + assigned, variables.items, err);
    launch_variables_release(&variables);
    return result;
}

/* A pod's own table, for a program that runs before there is one. */
static void prepare(struct member *member) {
    struct table_row row = {
        .index = member->job->index, .slots = member->job->gang.slots, .port = member->port};
    struct error err = {0};
    snprintf(row.address, sizeof row.address, "%s", member->job->address);
    if (!member->job->prepare[0]) {
        member->is_prepared = true;
        return;
    }
    member->table = (struct table){.count = 1, .rows = &row};
    member->is_preparing = true;
    if (start(member, PREPARE, -1, member->job->prepare, 0, &err) < 0) {
        member->is_preparing = false;
        fail(member, 1, "spec.prepare", err.text);
    }
    member->table = (struct table){0};
}

static void go(struct member *member, int64_t round) {
    const struct launch_job *job = member->job;
    struct error err = {0};
    if (round != member->round || !round) {
        return;
    }
    bool is_one = job->launcher == LAUNCHER_NONE || job->is_torchrun;
    bool is_mpi = job->launcher == LAUNCHER_MPI;
    int count = is_mpi ? job->index == 0 : is_one ? 1 : job->gang.slots;
    for (int slot = 0; slot < count; slot++) {
        int rank = is_mpi   ? COMMAND
                   : is_one ? table_place(&member->table, job->index)
                            : table_rank(&member->table, job->index, slot);
        if (start(member, rank, is_one || is_mpi ? -1 : slot, job->command, 0, &err) < 0) {
            fail(member, err.kind == ERROR_INVALID ? GANG_NOT_FOUND : 1, "spec.command", err.text);
            crew_kill(member->crew);
            return;
        }
    }
    log_event(LOG_INFO, "round %lld: %d processes run", (long long)round, count);
}

/* ---- remote starts -------------------------------------------------------------------------- */

static void spawn(struct member *member, const struct gang_message *asked) {
    struct gang_message answer = {
        .type = MESSAGE_ENDED, .index = asked->index, .id = asked->id, .code = 255};
    const char *const shell[] = {"/bin/sh", "-c", asked->line ? asked->line : "", NULL};
    struct words words = {0};
    struct error err = {0};
    bool is_plain = words_split(shell[2], &words);
    int id = SPAWNED + ++member->last_spawned;
    int result = -1;
    if (asked->round != member->round || member->is_stopping || !member->round) {
        error_set(&err, ERROR_CANCELLED, "that round is over");
    } else {
        result = start(member, id, -1, is_plain ? words.items : (char *const *)shell,
                       words.assigned, &err);
    }
    words_release(&words);
    if (result < 0) {
        snprintf(answer.words, sizeof answer.words, "worker %d: %.300s%s", member->job->index,
                 err.text, is_plain ? "" : " (the command is no plain words, and needs a shell)");
        say(member, &answer);
        return;
    }
    struct spawned *spawned = x_calloc(1, sizeof *spawned);
    *spawned = (struct spawned){id, asked->index, asked->id, member->spawned};
    member->spawned = spawned;
}

static void spawned_ended(struct member *member, const struct crew_end *end) {
    for (struct spawned **at = &member->spawned; *at; at = &(*at)->next) {
        struct spawned *spawned = *at;
        if (spawned->id == end->id) {
            struct gang_message message = {.type = MESSAGE_ENDED,
                                           .index = spawned->index,
                                           .id = spawned->asked,
                                           .code = end->code};
            snprintf(message.words, sizeof message.words, "%s", end->words);
            say(member, &message);
            *at = spawned->next;
            free(spawned);
            return;
        }
    }
}

/* Who asked has ended, or was killed. */
static void kill_spawned(struct member *member, const struct gang_message *message) {
    for (const struct spawned *one = member->spawned; one; one = one->next) {
        if (one->index == message->index && one->asked == message->id) {
            crew_kill_one(member->crew, one->id);
        }
    }
}

/* Programs of this pod that ask for starts elsewhere, by the host they know. */
static void serve_shell(struct member *member) {
    struct shell_request request;
    struct gang_message gone = {.type = MESSAGE_KILL};
    while (shell_take(member->shell, &request)) {
        const struct table_row *row = table_find_host(&member->table, request.host);
        struct gang_message message = {.type = MESSAGE_SPAWN, .id = request.id};
        if (!row || !member->round || member->is_stopping) {
            AUTO(text_freep)
            char *words = x_printf("%.100s is no pod of this round", request.host);
            shell_answer(member->shell, request.id, 255, words);
            continue;
        }
        message.index = row->index;
        message.line = (char *)request.line;
        say(member, &message);
    }
    while (shell_gone(member->shell, &gone.id)) {
        for (size_t i = 0; i < member->table.count; i++) {
            gone.index = member->table.rows[i].index; /* whichever has it */
            say(member, &gone);
        }
    }
}

static void ended(struct member *member, const struct crew_end *end) {
    struct gang_message message = {.type = MESSAGE_EXITED,
                                   .rank = end->id,
                                   .code = end->code,
                                   .is_memory = end->is_memory && end->code != 0};
    if (end->id == PREPARE) {
        member->is_preparing = false;
        if (end->code == 0) {
            member->is_prepared = true;
            message = (struct gang_message){.type = MESSAGE_PREPARED};
            say(member, &message);
        } else if (member->leaving_since_ms < 0) {
            AUTO(text_freep) char *what = x_printf("spec.prepare ended with %d", end->code);
            fail(member, 1, what, end->words);
        }
        return;
    }
    if (end->id >= SPAWNED) {
        spawned_ended(member, end);
        return;
    }
    snprintf(message.words, sizeof message.words, "%s", end->words);
    if (member->round) { /* else nobody asks any more */
        say(member, &message);
    }
}

static void stopped(struct member *member) {
    struct gang_message message = {.type = MESSAGE_STOPPED, .round = member->round};
    if (member->is_stopping && crew_count(member->crew) == (size_t)member->is_preparing) {
        AUTO(text_freep) char *notice = file_join(member->job->run, "notice");
        member->is_stopping = false;
        table_release(&member->table);
        remove(notice);
        say(member, &message);
        member->round = 0;
    }
}

/* ---- what the hub says ---------------------------------------------------------------------- */

static int write_hosts(const struct member *member, const char *name, bool for_hydra,
                       struct error *err) {
    AUTO(buffer_release) struct buffer hosts;
    AUTO(text_freep) char *path = file_join(member->job->run, name);
    buffer_init(&hosts, 1 << 20);
    return table_hostfile(&member->table, for_hydra, &hosts, err) < 0
               ? -1
               : file_write(path, hosts.data, hosts.size, err);
}

static void on_table(struct member *member, struct gang_message *message) {
    struct error err = {0};
    if (table_place(&message->table, member->job->index) < 0) {
        return;
    }
    table_release(&member->table);
    member->table = message->table;
    message->table = (struct table){0};
    member->round = message->round;
    member->master_port = message->port;
    member->is_stopping = false;
    if (write_hosts(member, "hosts", false, &err) < 0 ||
        write_hosts(member, "hosts.hydra", true, &err) < 0) {
        fail(member, 1, "the hostfile", err.text);
        return;
    }
    struct gang_message ready = {.type = MESSAGE_READY};
    say(member, &ready);
}

static void on_stop(struct member *member, int64_t round) {
    struct gang_message message = {.type = MESSAGE_STOPPED, .round = round};
    if (!member->round) {
        say(member, &message);
    } else if (round >= member->round) {
        member->is_stopping = true;
        crew_stop(member->crew, clock_monotonic_ms());
    }
}

/* Programs look at the file now and then. */
static void on_notice(struct member *member, int seconds) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(member->job->run, "notice");
    AUTO(text_freep) char *text = x_printf("%d\n", seconds);
    if (file_write(path, text, strlen(text), &err) < 0) {
        log_event(LOG_WARNING, "%s", err.text);
    }
}

static void on_done(struct member *member, int code) {
    member->exit_code = member->job->index == 0 ? code : 0;
}

static void on_welcome(struct member *member, const struct gang_message *welcome) {
    bool is_same = strcmp(welcome->hub, member->hub_name) == 0;
    if (!is_same) {
        link_reset(member->link);
        snprintf(member->hub_name, sizeof member->hub_name, "%s", welcome->hub);
    }
    member->seen = MAX(member->seen, welcome->attempt);
    member->alone_since_ms = -1;
    link_resume(member->link, is_same ? welcome->last : 0);
    /* What hello has not told a hub that knows nothing. */
    if (!is_same && member->is_prepared) {
        say(member, &(struct gang_message){.type = MESSAGE_PREPARED});
    }
    if (!is_same && member->has_failed) {
        struct gang_message message = {.type = MESSAGE_FAILED, .code = member->failure_code};
        snprintf(message.words, sizeof message.words, "%s", member->failure);
        say(member, &message);
    }
    if (!is_same && member->leaving_since_ms >= 0) {
        say_leaving(member);
    }
}

static void on_received(void *context, const char *text, size_t size) {
    struct member *member = context;
    struct gang_message message;
    struct error err = {0};
    if (gang_message_read(text, size, &message, &err) < 0) {
        log_event(LOG_ERROR, "the hub: %s", err.text);
        return;
    }
    if (message.type == MESSAGE_WELCOME) {
        on_welcome(member, &message);
    } else if (message.type == MESSAGE_DONE && message.number == 0 && message.code < 0) {
        log_event(LOG_ERROR, "the hub has another pod in this one's place");
        member->exit_code = 3;
    } else if (message.type == MESSAGE_DONE && message.number == 0) {
        on_done(member, message.code); /* all was over before this pod came */
    } else if (link_received(member->link, &message)) {
        switch (message.type) {
        case MESSAGE_TABLE:
            on_table(member, &message);
            break;
        case MESSAGE_GO:
            go(member, message.round);
            break;
        case MESSAGE_STOP:
            on_stop(member, message.round);
            break;
        case MESSAGE_SPAWN:
            spawn(member, &message);
            break;
        case MESSAGE_ENDED:
            shell_answer(member->shell, message.id, message.code, message.words);
            break;
        case MESSAGE_KILL:
            kill_spawned(member, &message);
            break;
        case MESSAGE_NOTICE:
            on_notice(member, message.seconds);
            break;
        case MESSAGE_DONE:
            on_done(member, message.code);
            break;
        default:
            break;
        }
    }
    gang_message_release(&message);
}

static void on_opened(void *context) {
    struct member *member = context;
    const struct launch_job *job = member->job;
    struct gang_message hello = {.type = MESSAGE_HELLO,
                                 .index = job->index,
                                 .slots = job->gang.slots,
                                 .port = member->port,
                                 .attempt = job->attempt,
                                 .seen = member->seen,
                                 .last = link_last(member->link),
                                 .is_prepared = member->is_prepared,
                                 .round = member->round};
    snprintf(hello.version, sizeof hello.version, "%s", WINDLASS_VERSION);
    snprintf(hello.pod, sizeof hello.pod, "%s", job->worker);
    snprintf(hello.incarnation, sizeof hello.incarnation, "%s", member->incarnation);
    snprintf(hello.address, sizeof hello.address, "%s", job->address);
    snprintf(hello.hub, sizeof hello.hub, "%s", member->hub_name);
    AUTO(text_freep) char *text = gang_message_write(&hello);
    socket_send(member->socket, text);
    member->complaint[0] = 0;
    log_event(LOG_INFO, "connected to the hub at %s", job->hub);
}

static void on_closed(void *context, const struct error *why) {
    struct member *member = context;
    link_broken(member->link);
    if (member->alone_since_ms < 0) {
        member->alone_since_ms = clock_monotonic_ms();
    }
    if (strcmp(member->complaint, why->text) != 0) {
        log_event(LOG_WARNING, "hub: %s", why->text);
        snprintf(member->complaint, sizeof member->complaint, "%s", why->text);
    }
    if (why->kind == ERROR_DENIED && strstr(why->text, "token")) {
        member->exit_code = 1;
    }
}

/* ---- the course ----------------------------------------------------------------------------- */

/* An old gang is dead before a new one starts, whoever is cut off from whom. */
static void fence(struct member *member, int64_t now_ms) {
    if (member->round && member->alone_since_ms >= 0 &&
        now_ms - member->alone_since_ms >= GANG_FENCE_MS) {
        log_event(LOG_ERROR, "no hub for %d s: what runs here is ended", GANG_FENCE_MS / 1000);
        member->round = 0;
        member->is_stopping = false;
        table_release(&member->table);
        crew_kill(member->crew);
    }
}

static void leave(struct member *member, int64_t now_ms) {
    if (member->leaving_since_ms < 0) {
        log_event(LOG_WARNING, "told to end");
        member->leaving_since_ms = now_ms;
        say_leaving(member);
    }
    bool is_idle = !member->round && crew_count(member->crew) == (size_t)member->is_preparing;
    bool is_late = now_ms - member->leaving_since_ms >= GRACE_S * 1000;
    bool hears = socket_is_open(member->socket);
    if (is_late || (is_idle && (!hears || link_is_idle(member->link)))) {
        member->exit_code = 130;
    }
}

/* A program that speaks moves; a rank's own counters come with its metrics. */
static void beat(struct member *member, int64_t now_ms) {
    int64_t lines = crew_lines(member->crew);
    if (!member->round || !crew_count(member->crew) || now_ms - member->beat_ms < BEAT_MS ||
        lines == member->lines || link_is_full(member->link)) {
        return;
    }
    struct gang_message message = {.type = MESSAGE_BEAT,
                                   .rank = table_rank(&member->table, member->job->index, 0),
                                   .progress = lines};
    if (member->job->gang.processes == 1) {
        message.rank = table_place(&member->table, member->job->index);
    }
    member->beat_ms = now_ms;
    member->lines = lines;
    say(member, &message);
}

static void look_around(struct member *member, const volatile sig_atomic_t *is_interrupted) {
    int64_t now_ms = clock_monotonic_ms();
    struct crew_end end;
    serve_shell(member);
    while (crew_look(member->crew, now_ms, &end)) {
        ended(member, &end);
    }
    stopped(member);
    fence(member, now_ms);
    beat(member, now_ms);
    if (now_ms - member->acknowledged_ms >= ACKNOWLEDGE_MS) {
        member->acknowledged_ms = now_ms;
        link_acknowledge(member->link);
    }
    if (*is_interrupted && member->exit_code < 0) {
        leave(member, now_ms);
    }
    if (member->hub && hub_gives_way(member->hub)) {
        member->exit_code = 3;
    }
}

static int live(struct member *member, const volatile sig_atomic_t *is_interrupted,
                struct error *err) {
    static const struct socket_events events = {
        .opened = on_opened, .received = on_received, .closed = on_closed};
    struct socket_options options = {.address = member->job->hub,
                                     .path = "/gang",
                                     .token = member->job->token,
                                     .sha256 = member->job->sha256,
                                     .events = &events,
                                     .context = member};
    AUTO(text_freep) char *path = file_join(member->job->run, "agent");
    if (shell_open(path, &member->shell, err) < 0) {
        return -1;
    }
    prepare(member);
    if (socket_open(&options, &member->socket, err) < 0) {
        return error_context(err, "hub");
    }
    while (member->exit_code < 0) {
        bool is_busy = crew_count(member->crew) > 0 || member->is_stopping;
        if (socket_service(member->socket, is_busy ? BUSY_MS : IDLE_MS, err) < 0) {
            return -1;
        }
        look_around(member, is_interrupted);
    }
    return 0;
}

/* All that runs ends before anybody hears that this pod has. */
int member_run(const struct launch_job *job, struct hub *hub,
               const volatile sig_atomic_t *is_interrupted, int *ret_code, struct error *err) {
    struct member member = {.job = job,
                            .hub = hub,
                            .crew = crew_new(),
                            .seen = job->index == 0 ? job->attempt : 0,
                            .alone_since_ms = clock_monotonic_ms(),
                            .leaving_since_ms = -1,
                            .exit_code = -1};
    AUTO(text_freep) char *name = digest_random(16);
    snprintf(member.incarnation, sizeof member.incarnation, "%s", name);
    member.link = link_new(send_text, &member);
    member.port = port_find_free(job->address, job->index + job->attempt * GANG_MEMBERS_MAX);
    int result = live(&member, is_interrupted, err);
    crew_free(member.crew);
    shell_free(member.shell);
    while (member.spawned) {
        struct spawned *next = member.spawned->next;
        free(member.spawned);
        member.spawned = next;
    }
    socket_free(member.socket);
    link_free(member.link);
    table_release(&member.table);
    if (result == 0) {
        *ret_code = member.exit_code;
    }
    return result;
}
