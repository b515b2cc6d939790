// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/logs.h"

#include "lib/time/clock.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/jobs/job_where.h"
#include "operator/commands/local_logs.h"
#include "operator/commands/remote.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/kube/stream.h"
#include "operator/object.h"
#include "operator/show/ending.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 1 << 20,
    LOOK_MS = 1000,
    STREAMS_MAX = 128,
    SILENCE_MS = 4 * 3600 * 1000,
    LOOK_LOCAL_MS = 200
};

static const struct command_help help = {
    .usage = "windlass logs NAME [options]",
    .about =
        "Prints the logs of a job's pods, each line with its pod in front. -f follows them until\n"
        "the job ends, including pods that start later.\n\n"
        "NAME is the newest run of that name on this machine, else a job of the cluster; with\n"
        "-n, --context or --kubeconfig only the cluster is searched. With --state DIR it prints\n"
        "the logs of a `windlass run` from its folder; NAME may be left out.",
    .examples = "windlass logs style-transfer -f\n"
                "windlass logs style-transfer --worker 3 --tail 50\n"
                "windlass logs style-transfer --coordinator --previous\n"
                "windlass logs style-transfer-20261121-040000 --local",
    .words_max = 1,
};

struct request {
    struct job_where where;
    const char *name, *state; /* state: the folder of a local run; NULL: a cluster */
    bool follow, previous, coordinator, is_raw;
    int64_t worker; /* -1: all */
    int64_t tail;   /* -1: all */
};

struct reader {
    const struct request *request;
    struct remote *remote;
    struct stream *streams;
};

/* One pod whose log is read. */
struct stream {
    struct stream *next;
    struct reader *reader;
    char *pod, *container;
    const char *short_name; /* in pod */
    struct client_call *call;
    struct stream_lines lines;
    char last[40]; /* the time of the last line, as written by the node: "2026-...Z" */
    bool was_read, is_over;
    bool is_resumed; /* lines up to `last` were printed before */
    struct error err;
};

static void stream_free(struct reader *reader, struct stream *stream) {
    if (stream->call) {
        client_cancel(reader->remote->client, stream->call);
    }
    stream_lines_release(&stream->lines);
    free(stream->pod);
    free(stream->container);
    free(stream);
}

static void show(const struct stream *stream, const char *text, size_t size) {
    local_logs_line(stream->short_name, text, size, stream->reader->request->is_raw);
}

/* A line is "2026-11-21T04:00:00.123456789Z text". All times of a node have the same form, so they
 * are compared as texts. */
static int on_line(void *context, const char *text, size_t size, struct error *err) {
    struct stream *stream = context;
    (void)err;
    const char *blank = memchr(text, ' ', size);
    size_t length = blank ? (size_t)(blank - text) : size;
    if (length < 20 || length >= sizeof stream->last) {
        show(stream, text, size);
        return 0;
    }
    char when[sizeof stream->last] = "";
    memcpy(when, text, length);
    if (stream->is_resumed && strcmp(when, stream->last) <= 0) {
        return 0;
    }
    memcpy(stream->last, when, sizeof when);
    size_t skip = MIN(length + 1, size);
    show(stream, text + skip, size - skip);
    return 0;
}

static int on_bytes(void *context, const char *data, size_t size, struct error *err) {
    struct stream *stream = context;
    return stream_lines_feed(&stream->lines, data, size, on_line, stream, err);
}

static void on_end(void *context, const struct client_answer *answer) {
    struct stream *stream = context;
    stream->call = NULL;
    stream->was_read = true;
    stream->is_resumed = *stream->last;
    if (stream->lines.partial.size) { /* a log may end without a line break */
        struct error ignored = {0};
        int shown =
            on_line(stream, stream->lines.partial.data, stream->lines.partial.size, &ignored);
        (void)shown;
    }
    stream_lines_release(&stream->lines);
    if (answer->err) {
        stream->err = *answer->err;
    }
}

static int start(struct reader *reader, struct stream *stream, struct error *err) {
    const struct rest_place place = {.api_version = "v1",
                                     .kind = "Pod",
                                     .namespace = reader->remote->namespace,
                                     .name = stream->pod,
                                     .part = "log"};
    AUTO(text_freep) char *path = NULL;
    if (rest_path(&place, &path, err) < 0) {
        return -1;
    }
    bool is_first = !stream->was_read;
    char tail[48] = "", since[64] = "";
    if (is_first && reader->request->tail >= 0) {
        snprintf(tail, sizeof tail, "&tailLines=%lld", (long long)reader->request->tail);
    }
    if (stream->is_resumed) {
        snprintf(since, sizeof since, "&sinceTime=%.19sZ", stream->last);
    }
    AUTO(text_freep)
    char *url = x_printf("%s?timestamps=true&container=%s%s%s%s", path, stream->container,
                         reader->request->follow ? "&follow=true" : "", tail, since);
    stream_lines_init(&stream->lines, LINE_MAX_BYTES);
    stream->err = (struct error){0};
    struct client_request request = {.verb = "log",
                                     .path = url,
                                     .timeout_ms = -1,
                                     .silence_ms = SILENCE_MS,
                                     .is_text = true,
                                     .received = on_bytes,
                                     .done = on_end,
                                     .context = stream};
    stream->call = client_start(reader->remote->client, &request);
    return 0;
}

static bool has_log(const json_t *pod) {
    return pod_phase_agent_state(pod, "running") || pod_phase_agent_state(pod, "terminated");
}

/* For each role and index only the newest attempt, unless earlier ones are asked for. */
static bool is_wanted(const struct request *request, const json_t *pods, const json_t *pod) {
    struct pod_phase phase = pod_phase_read(pod);
    bool is_coordinator = phase.index < 0; /* a gang has no coordinator */
    if ((request->coordinator && !is_coordinator) ||
        (request->worker >= 0 && phase.index != request->worker)) {
        return false;
    }
    size_t i;
    json_t *other;
    json_array_foreach(pods, i, other) {
        struct pod_phase rival = pod_phase_read(other);
        if (!request->previous && !request->follow && rival.index == phase.index &&
            rival.attempt > phase.attempt) {
            return false;
        }
    }
    return has_log(pod);
}

static struct stream *find_stream(const struct reader *reader, const char *pod) {
    struct stream *stream = reader->streams;
    while (stream && strcmp(stream->pod, pod) != 0) {
        stream = stream->next;
    }
    return stream;
}

static struct stream *add_stream(struct reader *reader, const json_t *pod) {
    struct stream **link = &reader->streams;
    while (*link) {
        link = &(*link)->next;
    }
    struct stream *stream = *link = x_calloc(1, sizeof *stream);
    stream->reader = reader;
    stream->pod = x_strdup(tree_text(pod, "metadata.name", ""));
    stream->container =
        x_strdup(tree_text(object_agent(tree_get(pod, "spec.containers")), "name", "agent"));
    stream->short_name = remote_short_name(stream->pod, reader->request->name);
    return stream;
}

static size_t count_open(const struct reader *reader) {
    size_t count = 0;
    for (const struct stream *stream = reader->streams; stream; stream = stream->next) {
        count += stream->call != NULL;
    }
    return count;
}

/* Opens ended streams of running pods again, at their last position. */
static int open_streams(struct reader *reader, const json_t *pods, struct error *err) {
    size_t i;
    json_t *pod;
    json_array_foreach(pods, i, pod) {
        if (!is_wanted(reader->request, pods, pod)) {
            continue;
        }
        struct stream *stream = find_stream(reader, tree_text(pod, "metadata.name", ""));
        if (!stream) {
            stream = add_stream(reader, pod);
        }
        bool has_ended = pod_phase_agent_state(pod, "terminated");
        stream->is_over = stream->was_read && !stream->call && has_ended && !stream->err.kind;
        if (!stream->call && !stream->is_over && count_open(reader) < STREAMS_MAX &&
            start(reader, stream, err) < 0) {
            return -1;
        }
    }
    fflush(stdout);
    return 0;
}

static int wait_events(struct reader *reader, int64_t wait_ms, struct error *err) {
    int64_t end_ms = clock_monotonic_ms() + wait_ms, now_ms;
    while ((now_ms = clock_monotonic_ms()) < end_ms) {
        if (loop_wait(reader->remote->loop, (int)MIN(end_ms - now_ms, INT_MAX), err) < 0) {
            return -1;
        }
        fflush(stdout);
    }
    return 0;
}

/* Prints the logs of all pods, one after the other, so that the lines of a pod are together. */
static int print_all(struct reader *reader, const json_t *pods, struct error *err) {
    size_t i;
    json_t *pod;
    int shown = 0;
    json_array_foreach(pods, i, pod) {
        if (!is_wanted(reader->request, pods, pod)) {
            continue;
        }
        struct stream *stream = add_stream(reader, pod);
        if (start(reader, stream, err) < 0) {
            return -1;
        }
        while (stream->call) {
            if (loop_wait(reader->remote->loop, -1, err) < 0) {
                return -1;
            }
        }
        if (stream->err.kind) {
            fflush(stdout);
            fprintf(stderr, "windlass logs: %s: %s\n", stream->pod, stream->err.text);
        }
        shown++;
    }
    if (shown == 0) {
        fprintf(stderr, "no pod of %s has a log yet: windlass status %s says why\n",
                reader->request->name, reader->request->name);
    }
    return 0;
}

/* Follows the logs until the job has ended or was deleted, and every log was read to its end. */
static int follow_all(struct reader *reader, struct error *err) {
    for (;;) {
        AUTO(tree_freep) json_t *job = NULL;
        AUTO(tree_freep) json_t *pods = NULL;
        struct error failure = {0};
        bool is_gone = remote_job(reader->remote, reader->request->name, &job, &failure) < 0 &&
                       failure.kind == ERROR_NOT_FOUND;
        bool is_over = is_gone || ending_is_final(json_object_get(job, "status"));
        if (failure.kind == ERROR_NONE || is_gone) {
            failure = (struct error){0};
            if (remote_pods(reader->remote, reader->request->name, &pods, &failure) == 0 &&
                open_streams(reader, pods, err) < 0) {
                return -1;
            }
        }
        if (failure.kind == ERROR_DENIED || failure.kind == ERROR_INVALID) {
            *err = failure;
            return -1;
        }
        if (is_over && failure.kind == ERROR_NONE && count_open(reader) == 0) {
            return 0;
        }
        if (wait_events(reader, LOOK_MS, err) < 0) {
            return -1;
        }
    }
}

static int read_logs(struct remote *remote, const struct request *request, struct error *err) {
    struct reader reader = {.request = request, .remote = remote};
    AUTO(tree_freep) json_t *pods = NULL;
    AUTO(tree_freep) json_t *job = NULL;
    int result = remote_pods(remote, request->name, &pods, err);
    if (result == 0 && json_array_size(pods) == 0) {
        result = remote_job(remote, request->name, &job, err); /* does the job exist? */
    }
    if (result == 0) {
        result = request->follow ? follow_all(&reader, err) : print_all(&reader, pods, err);
    }
    while (reader.streams) {
        struct stream *next = reader.streams->next;
        stream_free(&reader, reader.streams);
        reader.streams = next;
    }
    return result;
}

static int check_request(const struct request *request, struct error *err) {
    if (request->coordinator && request->worker >= 0) {
        return error_set(err, ERROR_INVALID, "--coordinator or --worker: give one of them");
    }
    if (!request->name && !request->state) {
        return error_set(err, ERROR_INVALID, "the NAME of the job is missing (--help)");
    }
    if (request->state && request->follow) {
        return error_set(err, ERROR_INVALID, "-f does not work with --state; use: tail -f %s/*.log",
                         request->state);
    }
    return 0;
}

static struct local_logs_choice choice_of(const struct request *request) {
    return (struct local_logs_choice){.name = request->name,
                                      .hub = request->coordinator,
                                      .previous = request->previous,
                                      .is_raw = request->is_raw,
                                      .worker = request->worker,
                                      .tail = request->tail};
}

/* Waits for a while; false: the run has ended. */
static bool still_runs(void *context) {
    struct error ignored = {0};
    return run_list_wait(context, LOOK_LOCAL_MS, &ignored) < 0;
}

static int read_run(const struct request *request, const struct run_item *run, struct error *err) {
    struct local_logs_choice choice = choice_of(request);
    const char *state = tree_text(run->record, "state", "");
    choice.name = tree_text(run->record, "name", "");
    return request->follow
               ? local_logs_follow(state, &choice, still_runs, (void *)(uintptr_t)run, err)
               : local_logs_print(state, &choice, err);
}

/* A pod may have a log after its job is gone, so on a cluster the pods are asked for first. */
static int read_where(const struct request *request, struct error *err) {
    AUTO(run_list_release) struct run_list runs = {0};
    AUTO(remote_release) struct remote remote = {0};
    if (request->state) {
        const struct local_logs_choice choice = choice_of(request);
        return local_logs_print(request->state, &choice, err);
    }
    if (!job_where_is_remote(&request->where) && run_list_read(&runs, err) < 0) {
        return -1;
    }
    const struct run_item *run = run_list_find(&runs, request->name);
    if (run) {
        return read_run(request, run, err);
    }
    if (request->where.here) {
        return error_set(err, ERROR_INVALID, "no run of this machine is named %s (windlass list)",
                         request->name);
    }
    return job_where_open(&request->where, &runs, request->name, &remote, err) < 0
               ? -1
               : read_logs(&remote, request, err);
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    struct request *request = context;
    (void)ret_code;
    request->name = words->count ? words->values[0] : NULL;
    return check_request(request, err) < 0 ? -1 : read_where(request, err);
}

int logs_command(int argc, char **argv) {
    struct request request = {.worker = -1, .tail = -1};
    const struct option options[] = {
        {"follow", 'f', OPTION_FLAG, NULL, "Follow until the job ends.", &request.follow},
        {"worker", 0, OPTION_INTEGER, "N", "Only the worker with this number.", &request.worker},
        {"coordinator", 0, OPTION_FLAG, NULL, "Only the coordinator.", &request.coordinator},
        {"tail", 0, OPTION_INTEGER, "N", "Only the last N lines of each pod.", &request.tail},
        {"previous", 'p', OPTION_FLAG, NULL, "Include earlier attempts, if their pods still exist.",
         &request.previous},
        {"raw", 0, OPTION_FLAG, NULL,
         "Lines as the programs wrote them. Otherwise colors are left out, and control "
         "characters are shown as \\x1B.",
         &request.is_raw},
        {"state", 0, OPTION_TEXT, "DIR", "Folder of a local run, as windlass run printed it.",
         &request.state},
        JOB_WHERE_ROWS(&request.where),
        {0},
    };
    const struct cli_command command = {
        .name = "logs", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
