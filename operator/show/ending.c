// SPDX-License-Identifier: Apache-2.0
#include "operator/show/ending.h"

#include "lib/file.h"
#include "lib/text/shown.h"
#include "operator/object.h"
#include "operator/show/progress_line.h"
#include "operator/show/shown_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAIL_BYTES = 4096, TAIL_LINES = 10 };

static bool condition_is(const json_t *status, const char *wanted) {
    return strcmp(tree_text(object_succeeded(status), "status", ""), wanted) == 0;
}

bool ending_is_final(const json_t *status) {
    return condition_is(status, "True") || condition_is(status, "False");
}

char *ending_path(const struct ending *ending, const char *spec_path) {
    size_t length = strcspn(spec_path, "/");
    AUTO(text_freep) char *volume = x_strndup(spec_path, length);
    const char *folder = json_string_value(json_object_get(ending->folders, volume));
    return folder ? x_printf("%s%s", folder, spec_path + length) : x_strdup(spec_path);
}

void ending_print_path(const struct ending *ending, const char *what, const char *spec_path) {
    if (spec_path) {
        AUTO(text_freep) char *path = ending_path(ending, spec_path);
        printf("  %-8s %s\n", what, path);
    }
}

void ending_print_page(const struct ending *ending) {
    if (ending->page) {
        printf("  %-8s %s\n", ending->page_label, ending->page);
    }
    fflush(stdout);
}

void ending_print_made(const struct ending *ending) {
    fputs(ending->table ? ending->table : "", stdout);
    ending_print_page(ending);
}

void ending_print_lines(FILE *to, const char *text) {
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        AUTO(text_freep) char *shown = shown_text(line, length);
        fprintf(to, "    | %s\n", shown);
        line += length + (line[length] == '\n');
    }
}

static void print_success(const struct ending *ending) {
    printf("%s succeeded in %.1f s: %s\n", ending->name, (double)MAX(ending->elapsed_ms, 1) / 1000,
           tree_text(object_succeeded(ending->status), "message", ""));
    ending_print_made(ending);
    ending_print_path(ending, "logs", ending->state_folder);
    fflush(stdout);
}

/* Prints the last lines of a log, to show the cause. */
static void print_tail(const char *path) {
    FILE *file = fopen(path, "re");
    if (!file) {
        return;
    }
    char text[TAIL_BYTES + 1];
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fseek(file, MAX(0, size - TAIL_BYTES), SEEK_SET);
    size_t got = fread(text, 1, TAIL_BYTES, file);
    fclose(file);
    while (got && text[got - 1] == '\n') {
        got--;
    }
    text[got] = 0;
    size_t start = got;
    for (int lines = 0; start > 0; start--) {
        if (text[start - 1] == '\n' && ++lines == TAIL_LINES) {
            break;
        }
    }
    ending_print_lines(stderr, text + start);
}

/* The reasons that all kinds have. */
static const struct ending_advice common[] = {
    {"SpecInvalid", "correct the manifest and run again", 2, false, false},
    {"InputInvalid", "correct the input, or its path in the manifest, and run again", 2, false,
     false},
    {"OutOfMemory", "raise spec.resources.limits.memory, or run fewer workers here", 1, false,
     false},
    {"DeadlineExceeded", "raise spec.activeDeadlineSeconds and run again", 1, false, false},
    {NULL, "see the log, correct the cause and run again", 1, false, false},
};

/* The agent's message has these words if the output belongs to another run (RESTART_HINT of its
 * coordinator; the trainer's). Then the input need not be corrected. */
static const char restart_words[] = "rerun with --restart";
static const struct ending_advice restart = {
    "InputInvalid",
    "run again with --restart (starts from the beginning), "
    "or undo the change, or choose another output",
    2, false, false};

/* The row of that reason, or the last row, whose reason is NULL. */
static const struct ending_advice *find_advice(const struct ending_advice *rows,
                                               const char *reason) {
    while (rows->reason && strcmp(rows->reason, reason) != 0) {
        rows++;
    }
    return rows;
}

static const struct ending_advice *advice_of(const struct ending_kind *kind,
                                             const json_t *condition) {
    const char *reason = tree_text(condition, "reason", "");
    if (strcmp(reason, restart.reason) == 0 &&
        strstr(tree_text(condition, "message", ""), restart_words)) {
        return &restart;
    }
    const struct ending_advice *own = kind->advices ? find_advice(kind->advices, reason) : NULL;
    return own && own->reason ? own : find_advice(common, reason);
}

static int print_failure(const struct ending *ending) {
    const json_t *condition = object_succeeded(ending->status);
    const char *reason = tree_text(condition, "reason", "");
    const struct ending_kind *kind = ending->kind;
    const struct ending_advice *advice = advice_of(kind, condition);
    fprintf(stderr, "windlass: %s failed: %s\n", ending->name,
            tree_text(condition, "message", reason));
    int64_t total = tree_integer(ending->status, "items.total", 0);
    if (total > 0) {
        fprintf(stderr, "  %lld of %lld %s were finished\n",
                (long long)tree_integer(ending->status, "items.done", 0), (long long)total,
                ending->unit);
    }
    if (kind->print_failures) {
        kind->print_failures(stderr, ending->raw_status);
    }
    fprintf(stderr, "  next: %s\n", advice->text);
    const char *pod = advice->is_workers ? ending->failed_worker : ending->failed_hub;
    if (!pod) {
        fprintf(stderr, "  logs: %s\n", ending->state_folder);
        return advice->exit_code;
    }
    AUTO(text_freep) char *path = x_printf("%s/%s.log", ending->state_folder, pod);
    fprintf(stderr, "  log: %s%s\n", path, advice->shows_log ? ", which ends with" : "");
    if (advice->shows_log) {
        print_tail(path);
    }
    return advice->exit_code;
}

int ending_print(const struct ending *ending) {
    AUTO(tree_freep) json_t *status = shown_tree(ending->status);
    struct ending shown = *ending;
    shown.raw_status = ending->status;
    shown.status = status;
    if (condition_is(status, "True")) {
        (ending->kind->print_success ? ending->kind->print_success : print_success)(&shown);
        return 0;
    }
    ending_print_made(&shown);
    return print_failure(&shown);
}

void ending_print_interrupted(const struct ending *ending) {
    AUTO(text_freep)
    char *kept = ending->kind->kept_folder ? ending->kind->kept_folder(ending) : NULL;
    int64_t done = tree_integer(ending->status, "items.done", 0);
    int64_t total = tree_integer(ending->status, "items.total", 0);
    fprintf(stderr, "windlass: %s interrupted", ending->name);
    if (total > 0) {
        fprintf(stderr, ": %lld of %lld %s were finished", (long long)done, (long long)total,
                ending->unit);
    }
    fprintf(stderr, "; all processes have ended\n  kept: the logs in %s\n", ending->state_folder);
    if (done > 0 && kept && access(kept, F_OK) == 0) {
        fprintf(stderr, "  kept: what was finished, under %s\n", kept);
    }
    fprintf(stderr, "  next: windlass resume %s goes on\n", ending->name);
}
