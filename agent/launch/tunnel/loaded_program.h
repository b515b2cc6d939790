/* loaded_program.h: which program a process runs that a dynamic loader has started by its name, as
 * in "ld-linux-x86-64.so.2 --library-path PATH /opt/openmpi/bin/prterun ...": /proc/PID/exe is the
 * loader then. Read in pieces, since PATH may be as long as the kernel's limit of arguments.
 * Freestanding, for preload.c. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

static inline bool loaded_program_starts(const char *text, const char *start) {
    while (*start && *text == *start) {
        text++;
        start++;
    }
    return !*start;
}

/* The last part of a path. */
static inline const char *loaded_program_name(const char *path) {
    const char *name = path;
    for (const char *at = path; *at; at++) {
        name = *at == '/' ? at + 1 : name;
    }
    return name;
}

/* name: of the file in /proc/PID/exe. */
static inline bool loaded_program_is_loader(const char *name) {
    return loaded_program_starts(name, "ld-") || loaded_program_starts(name, "ld.so");
}

enum { LOADED_PROGRAM_MAX = 256 /* a file's name or an option, with its NUL */ };

struct loaded_program {
    bool is_found, has_words; /* words: more than the loader's own name */
    bool takes_value;         /* the word before this one does */
    bool is_option;
    size_t length;                 /* of the word so far */
    size_t size;                   /* of what is kept of it */
    char word[LOADED_PROGRAM_MAX]; /* is_found: the program's name, cut if it is longer */
};

static inline bool loaded_program_takes_value(const char *option) {
    static const char *const names[] = {"--library-path",
                                        "--preload",
                                        "--argv0",
                                        "--audit",
                                        "--inhibit-rpath",
                                        "--glibc-hwcaps-mask",
                                        "--glibc-hwcaps-prepend"};
    bool does = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = option, *name = names[i];
        while (*name && *at == *name) {
            at++;
            name++;
        }
        does |= !*at && !*name;
    }
    return does;
}

static inline void loaded_program_end_word(struct loaded_program *program) {
    program->word[program->size] = 0;
    if (program->has_words && !program->takes_value && !program->is_option) {
        program->is_found = true;
        return;
    }
    program->takes_value =
        program->has_words && !program->takes_value && loaded_program_takes_value(program->word);
    program->has_words = true;
    program->is_option = false;
    program->length = program->size = 0;
}

/* The next bytes of the loader's command line: words that NUL ends; at its end one NUL more if
 * there is length. Begin with a zeroed *program. */
static inline void loaded_program_add(struct loaded_program *program, const char *bytes,
                                      size_t size) {
    for (size_t i = 0; i < size && !program->is_found; i++) {
        if (!bytes[i]) {
            loaded_program_end_word(program);
            continue;
        }
        program->is_option |= program->length == 1 && program->size == 1 &&
                              program->word[0] == '-' && bytes[i] == '-';
        if (bytes[i] == '/' && !program->is_option) {
            program->size = 0; /* the last part counts */
        } else if (program->size + 1 < LOADED_PROGRAM_MAX) {
            program->word[program->size++] = bytes[i];
        }
        program->length++;
    }
}
