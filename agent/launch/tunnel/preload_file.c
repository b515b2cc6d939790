// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/tunnel/preload_file.h"

#include "lib/file.h"

#include <string.h>

/* The Makefile builds it, and passes its folder to the assembler. */
__asm__(".section .rodata\n"
        ".hidden preload_library\n.global preload_library\n"
        "preload_library: .incbin \"windlass-preload.so\"\n"
        ".hidden preload_library_end\n.global preload_library_end\n"
        "preload_library_end: .byte 0\n"
        ".previous\n");
extern const char preload_library[], preload_library_end[];

/* Those of a program that is linked with a sanitizer, which has to be the first library. */
extern void asan_init(void) __asm__("__asan_init") __attribute__((weak));
extern void tsan_init(void) __asm__("__tsan_init") __attribute__((weak));

int preload_file_write(const char *folder, struct error *err) {
    size_t size = (size_t)(preload_library_end - preload_library);
    AUTO(text_freep) char *path = file_join(folder, PRELOAD_FILE_NAME);
    if (!size || asan_init || tsan_init) {
        return error_set(err, ERROR_UNSUPPORTED, "this build has no library for mpirun");
    }
    return file_write(path, preload_library, size, err);
}
