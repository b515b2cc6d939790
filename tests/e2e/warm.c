/* warm.c: a library for LD_PRELOAD that runs a program again and again, for lib.sh's warm_program.
   Each line of stdin is a call: a file for its errors, and its arguments, with \x1f between them. A
   call is a fork of the program as it is when its libraries are loaded and bound, which may take
   longer than what is asked of it; what it prints is dropped. A line with its exit code on stdout
   answers each call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int main_function(int, char **, char **);
static main_function *real_main;
enum { ARGUMENTS_MAX = 200 };

/* In the child: the program's own main, with the arguments of the line; its errors are added to the
 * file. */
static int call(char *line, char *program, char **environment) {
    char *arguments[ARGUMENTS_MAX + 2] = {program}, *rest = line;
    char *file = strsep(&rest, "\x1f");
    int count = 1;
    while (rest && count <= ARGUMENTS_MAX) {
        arguments[count++] = strsep(&rest, "\x1f");
    }
    if (!freopen(file, "a", stderr) || !freopen("/dev/null", "w", stdout) ||
        !freopen("/dev/null", "r", stdin)) {
        return 126;
    }
    return real_main(count, arguments, environment);
}

static int serve(int count, char **arguments, char **environment) {
    (void)count;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) > 0) {
        line[length - 1] = '\0';
        pid_t child = fork();
        if (child == 0) {
            exit(call(line, arguments[0], environment));
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) < 0) {
            return 1;
        }
        printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        fflush(stdout);
    }
    return 0;
}

/* The name that glibc calls, which takes four more: two functions, of which newer ones take no
   note, the loader's, and the stack. NOLINTNEXTLINE */
int __libc_start_main(main_function *main, int count, char **arguments, ...) {
    int (*start)(main_function *, int, char **, ...) = NULL;
    *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main;
    void *more[4];
    va_list list;
    va_start(list, arguments);
    for (int i = 0; i < 4; i++) {
        more[i] = va_arg(list, void *);
    }
    va_end(list);
    return start(serve, count, arguments, more[0], more[1], more[2], more[3]);
}
