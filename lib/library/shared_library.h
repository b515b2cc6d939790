/* shared_library.h: shared libraries that a program opens at their first use, and so is not linked
 * with: it starts without the time that they take, and where they are not installed
 * (docs/decisions/libraries-at-first-use.md). For programs that are not static.
 *
 * Each owner has one table: macros that list the functions, structs of pointers with the types of
 * the library's own header, so that a wrong call does not compile, and an array of
 * shared_library_call that connects both. It opens the library once (pthread_once) before the first
 * call. */
#pragma once

#include "lib/error.h"

struct shared_library_call {
    const char *name; /* in the library */
    void *address;    /* of the pointer to it */
};

/* Opens the file of that SONAME, which stays open, and sets the pointers. UNSUPPORTED says which
 * file or function is missing; then no pointer is set. */
NODISCARD int shared_library_open(const char *soname, const struct shared_library_call *calls,
                                  size_t count, struct error *err);

/* Says in the program's own file that it may open a library, since `ldd` does not know of it:
 * images/libraries.sh reads it, and so do packagers' tools. name: of a constant. Source: "ELF
 * dlopen metadata", https://uapi-group.org/specifications/specs/elf_dlopen_metadata/. */
#define SHARED_LIBRARY_NOTE(name, soname, feature)                                                 \
    SHARED_LIBRARY_NOTE_TEXT(name, "[{\"soname\":[\"" soname "\"],\"feature\":\"" feature "\"}]")
#define SHARED_LIBRARY_NOTE_TEXT(name, text)                                                       \
    __attribute__((used, section(".note.dlopen"), aligned(4))) static const struct {               \
        uint32_t owner_size, text_size, kind;                                                      \
        char owner_name[4];                                                                        \
        char text_bytes[(sizeof(text) + 3) / 4 * 4];                                               \
    } name = {4, sizeof(text), 0x407c0c0a, "FDO", text}
