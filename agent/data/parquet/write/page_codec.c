// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/write/page_codec.h"

#include <stdlib.h>
#include <zstd.h>

enum { LEVEL = 1 /* of 1 to 22: vectors hardly shrink at any level */ };

struct page_codec {
    enum parquet_codec codec;
    ZSTD_CCtx *zstd; /* NULL: not compressed */
};

struct page_codec *page_codec_new(enum parquet_codec codec) {
    struct page_codec *page_codec = x_calloc(1, sizeof *page_codec);
    page_codec->codec = codec;
    page_codec->zstd = codec == PARQUET_ZSTD ? ZSTD_createCCtx() : NULL;
    return page_codec;
}

void page_codec_free(struct page_codec *page_codec) {
    if (page_codec) {
        ZSTD_freeCCtx(page_codec->zstd);
        free(page_codec);
    }
}

int page_codec_add(struct page_codec *page_codec, const void *data, size_t size, struct buffer *out,
                   struct error *err) {
    char *to = NULL;
    if (!page_codec->zstd) {
        return page_codec->codec == PARQUET_ZSTD
                   ? error_set(err, ERROR_EXHAUSTED, "zstd: no memory")
                   : buffer_append(out, data, size, err);
    }
    size_t room = ZSTD_compressBound(size), before = out->size;
    if (buffer_extend(out, room, &to, err) < 0) {
        return -1;
    }
    size_t made = ZSTD_compressCCtx(page_codec->zstd, to, room, data, size, LEVEL);
    if (ZSTD_isError(made)) {
        return error_set(err, ERROR_BUG, "zstd: %s", ZSTD_getErrorName(made));
    }
    out->size = before + made;
    return 0;
}
