// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/rank/rsh.h"

#include "agent/launch/pod/agent_socket.h"
#include "lib/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ssh(1) of OpenSSH 9.2 and rsh(1) of netkit: flags without and with a value. */
static const char flags[] = "46AaCfGgKkMNnqsTtVvXxYyd";
static const char with_value[] = "BbcDEeFIiJLlmOopQRSWw";

/* The options in argv[*at], "-xq", "-lroot" or "-l" "root". */
static int pass_over(int argc, char *const *argv, int *at, struct error *err) {
    for (const char *letter = argv[*at] + 1; *letter; letter++) {
        if (strchr(with_value, *letter)) {
            if (!letter[1] && ++*at >= argc) {
                return error_set(err, ERROR_INVALID, "the option -%c needs a value", *letter);
            }
            return 0;
        }
        if (!strchr(flags, *letter)) {
            return error_set(err, ERROR_INVALID, "unknown option -%c", *letter);
        }
    }
    return 0;
}

int rsh_read(int argc, char *const *argv, const char **ret_host, char **ret_line,
             struct error *err) {
    const char *host = NULL;
    int at = 1;
    /* Options may precede or follow the host; the first word of the command ends them. */
    for (; at < argc; at++) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (argv[at][0] == '-' && argv[at][1]) {
            if (pass_over(argc, argv, &at, err) < 0) {
                return -1;
            }
        } else if (!host) {
            host = argv[at];
        } else {
            break;
        }
    }
    if (!host && at < argc) {
        host = argv[at++];
    }
    if (!host || !*host || at >= argc) {
        return error_set(err, ERROR_INVALID,
                         "%s: host or command missing, expected ssh [options] HOST COMMAND...",
                         host && *host ? host : "remote shell");
    }
    const char *user = strrchr(host, '@');
    AUTO(buffer_release) struct buffer line;
    buffer_init(&line, AGENT_SOCKET_LINE_MAX);
    for (int i = at; i < argc; i++) {
        struct error full = {0};
        if (buffer_printf(&line, &full, "%s%s", i > at ? " " : "", argv[i]) < 0) {
            return error_set(err, ERROR_INVALID, "the command for %s is longer than %d bytes", host,
                             AGENT_SOCKET_LINE_MAX);
        }
    }
    *ret_host = user ? user + 1 : host;
    *ret_line = buffer_take(&line, NULL);
    return 0;
}

int rsh_main(int argc, char **argv) {
    struct error err = {0};
    struct agent_request request = {.kind = AGENT_REQUEST_START};
    AUTO(text_freep) char *line = NULL;
    AUTO(text_freep) char *words = NULL;
    int code = 255;
    if (rsh_read(argc, argv, &request.host, &line, &err) == 0) {
        request.text = line;
        if (agent_socket_ask(getenv("WINDLASS_SOCKET"), &request, &code, &words, &err) == 0) {
            if (code != 0 && *words) {
                fprintf(stderr, "%s: %s\n", request.host, words);
            }
            return code;
        }
    }
    fprintf(stderr, "%s: %s\n", argv[0], err.text);
    return 255;
}
