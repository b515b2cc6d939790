/* misbehave.h: the program that test_command.c starts, itself: `PROGRAM misbehave MODE [TEXT]`. */
#pragma once
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline void misbehave_sleep(void) {
    while (true) {
        pause();
    }
}

/* The id and the items of the next request; false: stdin has ended. */
static inline bool misbehave_read(char **line, long long *id, char **items) {
    static size_t room;
    ssize_t size = getline(line, &room, stdin);
    if (size <= 0) {
        return false;
    }
    (*line)[size - 1] = 0;
    const char *at = strstr(*line, "\"id\":");
    *id = at ? atoll(at + 5) : -1;
    *items = strstr(*line, "\"items\":");
    if (*items) {
        *items += 8;
        char *end = strrchr(*items, ']');
        end[1] = 0;
    }
    return true;
}

/* Faults before it reports that it is ready. */
static inline void misbehave_init(const char *mode) {
    if (strcmp(mode, "init-error") == 0) {
        /* The first message counts, even within one write. */
        dprintf(1, "{\"error\":\"no such model: \\u00e4\\n\"}\n{\"ready\":true}\n");
    } else if (strcmp(mode, "init-silent") == 0) {
        puts("loading");
        misbehave_sleep();
    } else if (strcmp(mode, "init-exit") == 0) {
        fputs("first\nModuleNotFoundError: No module named 'torch'", stderr);
        exit(1);
    } else {
        puts("hello\n{\"id\":1,\"results\":[]}\n{\"ready\":true}");
    }
    fflush(stdout);
}

/* Two children: one in the group, one that left it and whose parent is gone. Prints their pids. */
static inline void misbehave_fork(void) {
    if (fork() == 0) {
        misbehave_sleep();
    }
    if (fork() == 0) {
        setsid();
        if (fork() > 0) {
            _exit(0);
        }
        printf("pid %d\n", getpid());
        misbehave_sleep();
    }
    struct timespec while_it_says = {.tv_nsec = 100000000};
    nanosleep(&while_it_says, NULL);
    printf("pid %d\n", getpid());
}

static inline void misbehave_noise(void) {
    static char long_line[3000000];
    memset(long_line, 'z', sizeof long_line - 1);
    puts("\n{'id': "
         "7}\n{\"id\":7\n{\"id\":99,\"results\":[1]}\n[7]\n{}\n{\"ready\":true}\n{\"id\":\"7\"}");
    puts(long_line);
    for (int i = 0; i < 1000; i++) {
        printf("progress %d\r\n", i);
    }
}

static inline void misbehave_once(const char *mode, const char *text, long long id, char *items) {
    if (strcmp(mode, "silent") == 0) {
        puts("working on it");
        misbehave_sleep();
    } else if (strcmp(mode, "crash") == 0) {
        fputs("about to crash\n", stderr);
        signal(SIGSEGV, SIG_DFL); /* not a sanitizer's */
        raise(SIGSEGV);
    } else if (strcmp(mode, "exit") == 0) {
        exit(3);
    } else if (strcmp(mode, "close") == 0) {
        close(1);
        misbehave_sleep();
    } else if (strcmp(mode, "endless") == 0) {
        putchar('{');
        while (putchar('x') >= 0) {
        }
    } else if (strcmp(mode, "flood") == 0) {
        while (puts("noise") >= 0) {
        }
    } else if (strcmp(mode, "fork") == 0) {
        misbehave_fork();
        exit(5);
    } else if (strcmp(mode, "say") == 0) {
        fputs(text, stdout);
    } else {
        if (strcmp(mode, "noise") == 0) {
            misbehave_noise();
        }
        printf("{\"id\":%lld,\"results\":%s}\n", id, items);
        if (strcmp(mode, "noise") == 0 || strcmp(mode, "twice") == 0) {
            printf("{\"id\":%lld,\"results\":[\"second\"]}\n", id);
        }
        if (strcmp(mode, "answer-exit") == 0) {
            exit(4);
        }
    }
    fflush(stdout);
}

static inline int misbehave(const char *mode, const char *text) {
    char *line = NULL, *items = NULL, *first_items = NULL;
    long long id = 0, first = -1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(mode, "never-reads") == 0) {
        puts("{\"ready\":true}");
        misbehave_sleep();
    }
    misbehave_read(&line, &id, &items);
    misbehave_init(mode);
    while (misbehave_read(&line, &id, &items)) {
        if (strcmp(mode, "backwards") == 0 && first < 0) {
            first = id;
            first_items = strdup(items);
            continue;
        }
        misbehave_once(mode, text, id, items);
        if (first >= 0) {
            misbehave_once(mode, text, first, first_items);
            free(first_items);
            first = -1;
        }
    }
    if (strcmp(mode, "stop") == 0) {
        puts("stdin has ended");
    }
    free(line);
    return 0;
}
