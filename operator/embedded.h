/* embedded.h: files that are embedded in the program. */
#pragma once

/* Declares `const char symbol[]`, the text of a file (a path relative to the top of the tree),
 * followed by a zero byte. Use it at file scope, in one source. The Makefile has to name the file
 * as a prerequisite of that source's object. */
#define EMBED_TEXT(symbol, path)                                                                   \
    __asm__(".section .rodata\n"                                                                   \
            ".global " #symbol "\n"                                                                \
            ".hidden " #symbol "\n" #symbol ": .incbin \"" path "\"\n"                             \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char symbol[]
