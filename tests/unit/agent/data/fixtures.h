/* fixtures.h: small films made by the ffmpeg program, and what ffprobe reports. Every test that
 * includes it works in build/tests/media with the volumes `media` (there) and `out` (a fresh
 * folder). */
#pragma once

#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIXTURES "build/tests/media"

static char fixtures_folder[4096], fixtures_out[4096];

UNUSED static void fixtures_start(const char *test) {
    struct error err = {0};
    char here[2048];
    if (!getcwd(here, sizeof here) || file_make_folders(FIXTURES, &err) < 0) {
        printf("not ok fixtures: %s\n", err.text);
        exit(1);
    }
    snprintf(fixtures_folder, sizeof fixtures_folder, "%s/" FIXTURES, here);
    /* Beside the program: builds with sanitizers run at the same time. */
    char program[2048];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[MAX(size, 0)] = 0;
    char *slash = strrchr(program, '/');
    snprintf(fixtures_out, sizeof fixtures_out, "%.*s/out-%s", slash ? (int)(slash - program) : 0,
             program, test);
    if (file_remove_tree(fixtures_out, &err) < 0 || file_make_folders(fixtures_out, &err) < 0) {
        printf("not ok fixtures: %s\n", err.text);
        exit(1);
    }
    setenv("media", fixtures_folder, 1);
    setenv("out", fixtures_out, 1);
}

/* Runs the command, which writes the file "$OUT"; only once, as the file is kept. */
UNUSED static int fixture(const char *name, const char *command) {
    char path[4200], text[8192];
    snprintf(path, sizeof path, "%s/%s", fixtures_folder, name);
    if (access(path, F_OK) == 0) {
        return 0;
    }
    const char *dot = strrchr(name, '.');
    snprintf(text, sizeof text,
             "cd %s && export OUT=.making-%ld%s && "
             "ff() { ffmpeg -nostdin -v error -y -bitexact \"$@\"; } && { %s; } && mv $OUT %s",
             fixtures_folder, (long)getpid(), dot ? dot : "", command, name);
    int code = system(text);
    if (code != 0) {
        printf("# the fixture %s could not be made: %s\n", name, command);
        test_failures++;
    }
    return code == 0 ? 0 : -1;
}

/* The first line that the command prints, as a number; -1 if it is not a number. */
UNUSED static long ask_number(const char *format, ...) {
    char command[8192], line[256] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    FILE *answer = popen(command, "r");
    char *got = answer ? fgets(line, sizeof line, answer) : NULL;
    if (answer) {
        pclose(answer);
    }
    return got && line[0] >= '0' && line[0] <= '9' ? strtol(line, NULL, 10) : -1;
}

/* The number of frames that a full decode delivers, by ffprobe. */
UNUSED static long ask_frames(const char *path) {
    return ask_number("ffprobe -v quiet -select_streams v:0 -count_frames "
                      "-show_entries stream=nb_read_frames -of csv=p=0 '%s' | tr -d ,",
                      path);
}
