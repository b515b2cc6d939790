/* file_type.h: the types of files that are known by their first bytes or by the endings of their
 * names: the one table of them, for what Windlass reads (picture_name.h, agent/data/image/image.h),
 * shows in a browser (`windlass ui`) and sends to model servers. Pure. */
#pragma once

#include "lib/base.h"

enum { FILE_TYPE_SNIFF_BYTES = 12 /* enough to know a file by its first bytes */ };

/* Each includes those before it. */
enum file_type_use {
    FILE_TYPE_OTHER,   /* not a picture */
    FILE_TYPE_PICTURE, /* one that neither Windlass nor every browser reads */
    FILE_TYPE_SHOWN,   /* a browser shows it */
    FILE_TYPE_READ,    /* Windlass decodes it: a codec of agent/data/image/ has this media type */
};

struct file_type {
    const char *media_type; /* "image/jpeg"; NULL: known by the ending alone */
    const char *magic;      /* its first bytes */
    size_t magic_size;
    const char *form; /* four bytes from byte 8, of RIFF files; NULL: any */
    enum file_type_use use;
    const char *endings[4]; /* without the dot, in lower case; end with NULL */
};

/* By the first bytes; a name proves nothing. NULL: unknown. */
const struct file_type *file_type_of_bytes(const void *bytes, size_t size);
/* By an ending without its dot, in any case: "jpg". NULL: unknown. */
const struct file_type *file_type_of_ending(const char *ending);
/* By what follows the last dot of the file's name: "a/b.JPG". NULL: unknown, or there is no name
 * before the dot (".jpg", "a/.jpg"). */
const struct file_type *file_type_of_name(const char *name);
