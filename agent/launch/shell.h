/* shell.h: remote starts that programs of this pod ask for: a unix socket on which `ssh` (rsh.h)
 * says host and line, and waits for the code. One thread; nothing here blocks. */
#pragma once

#include "lib/error.h"

struct shell;

struct shell_request {
    int64_t id;
    const char *host, *line; /* borrowed until the next call */
};

/* Listens at that path, for this user alone; what was there goes. */
NODISCARD int shell_open(const char *path, struct shell **ret_shell, struct error *err);
void shell_free(struct shell *shell); /* NULL is fine; who waits gets 255 */

/* A request that is whole; false: there is none now. */
bool shell_take(struct shell *shell, struct shell_request *ret_request);
/* Somebody does not wait any more. */
bool shell_gone(struct shell *shell, int64_t *ret_id);
void shell_answer(struct shell *shell, int64_t id, int code, const char *words);
