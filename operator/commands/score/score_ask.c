// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/score/score_ask.h"

#include "lib/child.h"
#include "lib/file.h"
#include "operator/local/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_BYTES_MAX = 1 << 20, USAGE = 2, CANNOT_RUN = 127 };

/* In the child: does not return. parent: before the fork. */
static _Noreturn void become(const char *agent, const char *model, pid_t parent,
                             const int ends[2]) {
    child_begin();
    if (child_dies_with(parent) && dup2(ends[0], STDOUT_FILENO) >= 0 &&
        dup2(ends[1], STDERR_FILENO) >= 0) {
        execl(agent, "windlass-agent", "model", "check", "--json", "--", model, (char *)NULL);
    }
    _exit(CANNOT_RUN);
}

/* The last line, without the name of the program. */
static const char *last_line(char *text) {
    static const char program[] = "windlass-agent model: ";
    size_t size = strlen(text);
    while (size > 0 && text[size - 1] == '\n') {
        text[--size] = 0;
    }
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    return text_starts(line, program) ? line + strlen(program) : line;
}

static int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What it says on both; few words go to standard error, so that they fit into the pipe. */
static int read_both(int answer, int words, char **ret_answer, char **ret_words,
                     struct error *err) {
    size_t ignored;
    return file_read_stream(answer, "windlass-agent", ANSWER_BYTES_MAX, ret_answer, &ignored, err) <
                   0
               ? -1
               : file_read_stream(words, "windlass-agent", ANSWER_BYTES_MAX, ret_words, &ignored,
                                  err);
}

int score_ask(const char *model, json_t **ret_facts, struct error *err) {
    AUTO(text_freep) char *folder = NULL;
    if (local_find_programs(&folder, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *agent = file_join(folder, "windlass-agent");
    AUTO(text_freep) char *answer = NULL;
    AUTO(text_freep) char *words = NULL;
    int pipes[2][2];
    if (pipe2(pipes[0], O_CLOEXEC) < 0 || pipe2(pipes[1], O_CLOEXEC) < 0) {
        return error_from_errno(err, errno, "cannot make a pipe");
    }
    const int ends[2] = {pipes[0][1], pipes[1][1]};
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        become(agent, model, parent, ends);
    }
    close(pipes[0][1]);
    close(pipes[1][1]);
    int result = child < 0 ? error_from_errno(err, errno, "cannot start %s", agent)
                           : read_both(pipes[0][0], pipes[1][0], &answer, &words, err);
    close(pipes[0][0]);
    close(pipes[1][0]);
    int code = child < 0 ? -1 : wait_for(child);
    if (result < 0) {
        return -1;
    }
    if (code != 0) {
        const char *why = last_line(words);
        return error_set(err, code == USAGE ? ERROR_INVALID : ERROR_UNAVAILABLE, "%s",
                         *why ? why : "windlass-agent failed without a message");
    }
    return tree_parse(answer, strlen(answer), ANSWER_BYTES_MAX, ret_facts, err);
}
