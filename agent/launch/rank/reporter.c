// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/rank/reporter.h"

#include "agent/launch/pod/agent_socket.h"
#include "agent/launch/rank/metric_line.h"
#include "agent/launch/rank/metric_scan.h"
#include "lib/buffer.h"
#include "lib/time/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FOUND_MAX = 192 << 10, /* bytes of a request; agent_socket.h takes 256 KiB */
    READ_MAX = 16 << 10,
    MARK_MAX = 64
};

/* The beginning of a line. A line that is longer than a metric can be is skipped to its end. */
struct cutter {
    char line[METRIC_LINE_MAX + 1];
    size_t size;
    bool is_long;
};

struct reporter {
    int rank;
    bool reads_output;       /* standard output has metrics */
    struct pattern *pattern; /* NULL: in the usual forms (metric_scan.h) */
    const char *path;        /* NULL: no file */
    struct stat file;        /* at the last check; st_ino 0: it did not exist */
    off_t read;              /* bytes of the file that were read */
    char mark[MARK_MAX];     /* the last bytes that were read, since a new file may get the inode of
                                the old one */
    size_t mark_size;
    int64_t looked_ms; /* 0: not yet */
    struct cutter output, written;
    struct buffer found; /* lines of metric.h, not sent yet */
    bool has_failed;
};

static int open_file(const struct reporter *reporter, struct stat *ret_file) {
    int fd = open(reporter->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, ret_file) < 0 || !S_ISREG(ret_file->st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static void keep_mark(struct reporter *reporter, int fd) {
    off_t size = MIN(reporter->read, (off_t)MARK_MAX);
    ssize_t got = pread(fd, reporter->mark, (size_t)size, reporter->read - size);
    reporter->mark_size = got == size ? (size_t)size : 0;
}

static void pass_over(struct reporter *reporter) {
    AUTO(fd_closep) int fd = open_file(reporter, &reporter->file);
    if (fd < 0) {
        reporter->file = (struct stat){0};
        return;
    }
    reporter->read = reporter->file.st_size;
    keep_mark(reporter, fd);
}

struct reporter *reporter_new(int rank, struct error *err) {
    const char *pattern = getenv("WINDLASS_PATTERN"), *path = getenv("WINDLASS_METRICS_FILE");
    if (!getenv("WINDLASS_SOCKET") || (!pattern && !path)) {
        return NULL;
    }
    struct reporter *reporter = x_calloc(1, sizeof *reporter);
    reporter->reads_output = pattern != NULL;
    if (pattern && *pattern &&
        pattern_new(pattern, METRIC_GROUPS_MIN, &reporter->pattern, err) < 0) {
        free(reporter);
        return NULL;
    }
    reporter->rank = rank;
    reporter->path = path;
    buffer_init(&reporter->found, FOUND_MAX);
    if (path) {
        pass_over(reporter);
    }
    return reporter;
}

/* ---- sending reports ------------------------------------------------------------------------ */

static void send_reports(struct reporter *reporter) {
    struct agent_request request = {.kind = AGENT_REQUEST_REPORT,
                                    .rank = reporter->rank,
                                    .round = agent_socket_own_round(),
                                    .text = reporter->found.data};
    AUTO(text_freep) char *words = NULL;
    struct error err = {0};
    int code = 0;
    if (reporter->found.size == 0) {
        return;
    }
    if (agent_socket_ask(getenv("WINDLASS_SOCKET"), &request, &code, &words, &err) < 0 &&
        !reporter->has_failed) {
        fprintf(stderr, "windlass-shim: metric lost: %s\n", err.text);
        reporter->has_failed = true;
    }
    buffer_clear(&reporter->found);
}

static void add(struct reporter *reporter, const struct metric *metric) {
    struct error err = {0};
    char text[METRIC_TEXT_MAX];
    if (reporter->found.size + METRIC_TEXT_MAX > FOUND_MAX) {
        send_reports(reporter);
    }
    metric_write(metric, text);
    if (buffer_printf(&reporter->found, &err, "%s\n", text) < 0) {
        abort(); /* the room was checked above */
    }
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Returns how many metrics are in the line. */
static size_t find(const struct reporter *reporter, const struct cutter *cutter, size_t size,
                   struct metric found[static METRIC_SCAN_MAX]) {
    if (cutter != &reporter->output) {
        return metric_line_read_json(cutter->line, size, &found[0]);
    }
    return reporter->pattern ? metric_line_find(reporter->pattern, cutter->line, &found[0])
                             : metric_scan(cutter->line, found);
}

static void end_line(struct reporter *reporter, struct cutter *cutter) {
    struct metric found[METRIC_SCAN_MAX];
    size_t size = cutter->size;
    size -= size > 0 && cutter->line[size - 1] == '\r';
    cutter->line[size] = 0;
    size_t count = !cutter->is_long && size > 0 ? find(reporter, cutter, size, found) : 0;
    for (size_t i = 0; i < count; i++) {
        add(reporter, &found[i]);
    }
    cutter->size = 0;
    cutter->is_long = false;
}

static void cut(struct reporter *reporter, struct cutter *cutter, const char *data, size_t size) {
    for (const char *at = data, *end = data + size; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        size_t room = METRIC_LINE_MAX - cutter->size;
        cutter->is_long |= length > room;
        memcpy(cutter->line + cutter->size, at, MIN(length, room));
        cutter->size += MIN(length, room);
        at += length;
        if (newline) {
            end_line(reporter, cutter);
            at++;
        }
    }
}

void reporter_add_output(struct reporter *reporter, const char *data, size_t size) {
    if (reporter && reporter->reads_output) {
        cut(reporter, &reporter->output, data, size);
        send_reports(reporter);
    }
}

/* ---- the file ------------------------------------------------------------------------------- */

bool reporter_has_file(const struct reporter *reporter) {
    return reporter && reporter->path;
}

/* True if the file has not become shorter and still has the bytes that were read. */
static bool is_the_same(const struct reporter *reporter, int fd, const struct stat *file) {
    char mark[MARK_MAX];
    size_t size = reporter->mark_size;
    if (file->st_ino != reporter->file.st_ino || file->st_dev != reporter->file.st_dev ||
        file->st_size < reporter->read) {
        return false;
    }
    ssize_t got = pread(fd, mark, size, reporter->read - (off_t)size);
    return got < 0 || ((size_t)got == size && memcmp(mark, reporter->mark, size) == 0);
}

static void read_metric_file(struct reporter *reporter) {
    struct stat file;
    char data[READ_MAX];
    AUTO(fd_closep) int fd = open_file(reporter, &file);
    if (fd < 0) {
        return; /* not yet */
    }
    if (!is_the_same(reporter, fd, &file)) {
        reporter->read = 0;
        reporter->written.size = 0;
        reporter->written.is_long = false;
    }
    reporter->file = file;
    ssize_t got;
    while ((got = pread(fd, data, sizeof data, reporter->read)) > 0) {
        reporter->read += got;
        cut(reporter, &reporter->written, data, (size_t)got);
        send_reports(reporter);
    }
    keep_mark(reporter, fd);
}

void reporter_read_file(struct reporter *reporter) {
    int64_t now_ms = clock_monotonic_ms();
    if (reporter_has_file(reporter) &&
        (reporter->looked_ms == 0 || now_ms - reporter->looked_ms >= REPORTER_POLL_MS)) {
        read_metric_file(reporter);
        reporter->looked_ms = clock_monotonic_ms();
    }
}

void reporter_free(struct reporter *reporter) {
    if (!reporter) {
        return;
    }
    if (reporter->path) {
        read_metric_file(reporter);
    }
    if (reporter->reads_output) {
        end_line(reporter, &reporter->output);
    }
    end_line(reporter, &reporter->written);
    send_reports(reporter);
    pattern_free(reporter->pattern);
    buffer_release(&reporter->found);
    free(reporter);
}
