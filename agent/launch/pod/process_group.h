/* process_group.h: the processes of a pod: starts them, passes on their output line by line,
 * reports their exits with the end of their output, and stops them all. Only process_group_free
 * blocks. One thread, which must live as long as the processes: the kernel kills them when the
 * thread that started them ends. */
#pragma once

#include "lib/error.h"

#include <sys/types.h>

enum {
    PROCESS_GROUP_TERM_MS = 10000,  /* between SIGTERM and SIGKILL */
    PROCESS_GROUP_DETAIL_MAX = 512, /* bytes of process_group_end.detail, NUL included */
    PROCESS_GROUP_LINE_MAX = 161,   /* of the last line, NUL included */
};

struct process_group;

struct process_group_end {
    int id;         /* as process_group_start got it */
    int code;       /* the exit code, or 128 + signal */
    bool is_memory; /* the kernel OOM-killed a process of this container since it was started */
    char detail[PROCESS_GROUP_DETAIL_MAX]; /* the end of its output (output_tail.h) */
};

struct process_group *process_group_new(void);
/* Kills what runs and waits for it. Accepts NULL. */
void process_group_free(struct process_group *group);

/* Starts a program. id: the caller's. words (the program and its arguments) and variables
 * ("NAME=VALUE"): NULL-ended. INVALID: the program does not exist or cannot be run. */
NODISCARD int process_group_start(struct process_group *group, int id, const char *const *words,
                                  char **variables, struct error *err);
/* Passes on output and reaps orphans. True: a process has ended (*ret_end); call it again. */
bool process_group_poll(struct process_group *group, int64_t now_ms,
                        struct process_group_end *ret_end);
/* Finds a suspended process (SIGSTOP): the id of the process started here, and the pid of the one
 * that is suspended, which may be a descendant. False: there is none. */
bool process_group_find_suspended(const struct process_group *group, int *ret_id, pid_t *ret_pid);
/* True if the kernel OOM-killed in this container since the oldest running process started. */
bool process_group_is_short_of_memory(const struct process_group *group);
/* Sends SIGTERM to all processes and their orphans; process_group_poll sends SIGKILL after
 * PROCESS_GROUP_TERM_MS. */
void process_group_stop(struct process_group *group, int64_t now_ms);
/* Sends SIGKILL to one process and its descendants. */
void process_group_kill_one(struct process_group *group, int id);
/* Sends SIGKILL to all. */
void process_group_kill(struct process_group *group);
size_t process_group_count(const struct process_group *group); /* processes that have not ended */
/* The number of output lines passed on so far, as a sign of work: without those that a program
 * begins with to say that its command line is wrong (lib/text/usage_error.h), and what follows
 * within 10 s. */
int64_t process_group_lines(const struct process_group *group);
/* The last line with a letter or a digit that was passed on, in one line of UTF-8; long ones lose
 * their end. "": none. */
void process_group_last_line(const struct process_group *group,
                             char ret_line[static PROCESS_GROUP_LINE_MAX]);
