// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/local_logs.h"

#include "lib/file.h"
#include "lib/text/shown.h"
#include "lib/tree.h"
#include "operator/kinds/kinds.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void local_logs_line(const char *pod, const char *text, size_t size, bool is_raw) {
    printf("[%s] ", pod);
    if (is_raw) {
        fwrite(text, 1, size, stdout);
    } else {
        AUTO(text_freep) char *shown = shown_text(text, size);
        fputs(shown, stdout);
    }
    putchar('\n');
}

/* JOB-HUBROLE-ATTEMPT.log, JOB-ROLE-INDEX.log, JOB-ROLE-INDEX-ATTEMPT.log (roles of kinds/kind.h);
 * of a kind without roles JOB-INDEX.log, JOB-INDEX-ATTEMPT.log. */
struct log_file {
    char *name;     /* the pod's */
    size_t job_len; /* length of the job's name, a prefix of `name` */
    int index;      /* -1: the hub's */
    int attempt;
};

struct log_files {
    struct log_file *items;
    size_t count;
};

static void log_files_release(struct log_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].name);
    }
    free(files->items);
}

/* A job's own name may be x-worker-1: only the last occurrence separates it. */
static const char *find_last(const char *text, const char *part) {
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, part)); at++) {
        last = at;
    }
    return last;
}

static void set_name(struct log_file *file, const char *text, const char *rest) {
    file->job_len = (size_t)(rest - text);
    file->name = x_strndup(text, strlen(text) - strlen(".log"));
}

/* "-INDEX.log" or "-INDEX-ATTEMPT.log": only attempts from 2 on have a number. rest: what follows
 * the job's name. */
static bool read_numbers(const char *text, const char *rest, const char *numbers,
                         struct log_file *ret_file) {
    struct log_file found = {.attempt = 1};
    int used = 0;
    if (sscanf(numbers, "-%9d.log%n", &found.index, &used) < 1 || !used) {
        sscanf(numbers, "-%9d-%9d.log%n", &found.index, &found.attempt, &used);
    }
    if (!used || numbers[used] || found.index < 0) {
        return false;
    }
    set_name(&found, text, rest);
    *ret_file = found;
    return true;
}

/* "a-1-2.log" may belong to two jobs (a, a-1): it belongs to the one whose first pod has a log. */
static bool find_member(const char *folder, const char *file, struct log_file *ret_file) {
    for (const char *rest = file + strlen(file); rest > file; rest--) {
        AUTO(text_freep) char *job = x_strndup(file, (size_t)(rest - file));
        AUTO(text_freep) char *first = x_printf("%s/%s-0.log", folder, job);
        if (*rest == '-' && access(first, F_OK) == 0 && read_numbers(file, rest, rest, ret_file)) {
            return true;
        }
    }
    return false;
}

/* The last "-ROLE-" in the file's name, of any kind's roles; NULL: none. */
static const char *find_role(const char *file, const char **ret_role, bool *ret_is_hub) {
    const char *last = NULL;
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        for (const char *const *role = (*row)->roles; role && *role; role++) {
            AUTO(text_freep) char *part = x_printf("-%s-", *role);
            const char *at = find_last(file, part);
            if (at && (!last || at > last)) {
                last = at;
                *ret_role = *role;
                *ret_is_hub = role == (*row)->roles;
            }
        }
    }
    return last;
}

static bool read_name(const char *file, struct log_file *ret_file) {
    const char *role = NULL;
    bool is_hub = false;
    const char *at = find_role(file, &role, &is_hub);
    struct log_file found = {.index = -1, .attempt = 1};
    int used = 0;
    if (!at) {
        return false;
    }
    const char *numbers = at + 1 + strlen(role);
    if (!is_hub) {
        return read_numbers(file, at, numbers, ret_file);
    }
    sscanf(numbers, "-%9d.log%n", &found.attempt, &used);
    if (!used || numbers[used]) {
        return false;
    }
    set_name(&found, file, at);
    *ret_file = found;
    return true;
}

static int in_order(const void *one, const void *other) {
    const struct log_file *a = one, *b = other;
    return a->index != b->index ? a->index - b->index : a->attempt - b->attempt;
}

static int find_files(const char *folder, const char *job, struct log_files *files,
                      struct error *err) {
    DIR *entries = opendir(folder);
    if (!entries) {
        return error_from_errno(err, errno, "--state %s", folder);
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        struct log_file file;
        const char *name = entry->d_name;
        bool is_named = job && text_starts(name, job);
        if (!(is_named && read_numbers(name, name + strlen(job), name + strlen(job), &file)) &&
            !read_name(name, &file) && !find_member(folder, name, &file)) {
            continue;
        }
        if (job && (strlen(job) != file.job_len || strncmp(job, file.name, file.job_len) != 0)) {
            free(file.name);
            continue;
        }
        files->items = x_realloc(files->items, (files->count + 1) * sizeof *files->items);
        files->items[files->count++] = file;
    }
    closedir(entries);
    if (files->count == 0) {
        return error_set(
            err, ERROR_INVALID,
            "--state %s: no pod logs%s%s; expected the folder that windlass run prints "
            "at its end",
            folder, job ? " of " : "", job ? job : "");
    }
    qsort(files->items, files->count, sizeof *files->items, in_order);
    return 0;
}

/* For each role and index only the newest attempt, unless earlier ones are asked for. */
static bool is_wanted(const struct log_files *files, size_t i,
                      const struct local_logs_choice *choice) {
    const struct log_file *file = &files->items[i];
    bool is_newest = i + 1 == files->count || files->items[i + 1].index != file->index;
    return (!choice->hub || file->index < 0) &&
           (choice->worker < 0 || file->index == choice->worker) && (is_newest || choice->previous);
}

static int64_t count_lines(FILE *from) {
    int64_t count = 0;
    int last = '\n';
    for (int letter; (letter = getc(from)) != EOF; last = letter) {
        count += letter == '\n';
    }
    rewind(from);
    return count + (last != '\n');
}

/* at: where to begin, and afterwards the end of the last whole line; NULL: print all. */
static int print_file(const char *folder, const struct log_file *file,
                      const struct local_logs_choice *choice, json_int_t *at, struct error *err) {
    AUTO(text_freep) char *leaf = x_printf("%s.log", file->name);
    AUTO(text_freep) char *path = file_join(folder, leaf);
    FILE *from = fopen(path, "re");
    if (!from) {
        return error_from_errno(err, errno, "%s", path);
    }
    bool is_begun = at && *at > 0;
    int64_t skip = choice->tail < 0 || is_begun ? 0 : MAX(count_lines(from) - choice->tail, 0);
    if (is_begun) {
        fseek(from, (long)*at, SEEK_SET);
    }
    char *line = NULL;
    size_t room = 0;
    for (ssize_t size; (size = getline(&line, &room, from)) >= 0;) {
        bool is_whole = size > 0 && line[size - 1] == '\n';
        if (at && !is_whole) {
            break; /* the rest of it is still to come */
        }
        if (at) {
            *at = ftell(from);
        }
        if (skip-- > 0) {
            continue;
        }
        local_logs_line(file->name + file->job_len + 1, line, (size_t)size - is_whole,
                        choice->is_raw);
    }
    free(line);
    fclose(from);
    return 0;
}

int local_logs_print(const char *folder, const struct local_logs_choice *choice,
                     struct error *err) {
    AUTO(log_files_release) struct log_files files = {0};
    if (find_files(folder, choice->name, &files, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < files.count; i++) {
        if (is_wanted(&files, i, choice) &&
            print_file(folder, &files.items[i], choice, NULL, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int local_logs_find(const char *folder, const struct local_logs_choice *choice,
                    local_logs_seen *seen, void *context, struct error *err) {
    AUTO(log_files_release) struct log_files files = {0};
    if (find_files(folder, choice->name, &files, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < files.count; i++) {
        const struct log_file *file = &files.items[i];
        AUTO(text_freep) char *path = x_printf("%s/%s.log", folder, file->name);
        if (is_wanted(&files, i, choice)) {
            seen(context, file->name + file->job_len + 1, path);
        }
    }
    return 0;
}

/* Prints what is new. places: {pod: where its log was read to}. */
static int print_news(const char *folder, const struct local_logs_choice *choice, json_t *places,
                      struct error *err) {
    AUTO(log_files_release) struct log_files files = {0};
    struct error none = {0};
    if (find_files(folder, choice->name, &files, &none) < 0) {
        return 0; /* no pod has started yet */
    }
    for (size_t i = 0; i < files.count; i++) {
        const struct log_file *file = &files.items[i];
        if ((choice->hub && file->index >= 0) ||
            (choice->worker >= 0 && file->index != choice->worker)) {
            continue;
        }
        json_int_t at = json_integer_value(json_object_get(places, file->name));
        if (print_file(folder, file, choice, &at, err) < 0) {
            return -1;
        }
        json_object_set_new(places, file->name, json_integer(at));
    }
    fflush(stdout);
    return 0;
}

int local_logs_follow(const char *folder, const struct local_logs_choice *choice,
                      local_logs_goes_on *goes_on, void *context, struct error *err) {
    AUTO(tree_freep) json_t *places = json_object();
    bool is_on = true;
    while (is_on) {
        is_on = goes_on(context); /* asked first, so that the last lines are printed, too */
        if (print_news(folder, choice, places, err) < 0) {
            return -1;
        }
    }
    return 0;
}
