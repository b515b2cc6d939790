/* page_codec.h: compresses the bytes of a page. One thread. */
#pragma once

#include "agent/data/parquet/write/parquet_column.h"
#include "lib/buffer.h"

struct page_codec;

struct page_codec *page_codec_new(enum parquet_codec codec);
void page_codec_free(struct page_codec *page_codec); /* accepts NULL */
/* Appends them. EXHAUSTED: the buffer is full; BUG: the library has failed. */
NODISCARD int page_codec_add(struct page_codec *page_codec, const void *data, size_t size,
                             struct buffer *out, struct error *err);
