/* embedded.h: files that are part of the program. */
#pragma once

/* Declares `const char symbol[]`, the text of a file (a path from the top of the tree), with a zero
 * byte behind it. At file scope, in one source. The Makefile has to name the file as a prerequisite
 * of that source's object. */
#define EMBED_TEXT(symbol, path)                                                                   \
    __asm__(".section .rodata\n"                                                                   \
            ".global " #symbol "\n"                                                                \
            ".hidden " #symbol "\n" #symbol ": .incbin \"" path "\"\n"                             \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char symbol[]
