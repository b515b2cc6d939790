/* parquet_unpack.h: the codecs of Parquet's pages: zlib, libzstd and libbrotlidec, and lz_block.h.
 * Any thread. */
#pragma once

#include "agent/data/parquet/parquet_format.h"
#include "lib/error.h"

struct parquet_unpack_bytes {
    const uint8_t *data;
    size_t size;
};

/* Unpacks into exactly size_out bytes. codec: enum parquet_codec, or another number. INVALID: an
 * unknown codec, LZO, damaged data, or another size. Other errors are elsewhere's. */
NODISCARD int parquet_unpack(int codec, struct parquet_unpack_bytes in, uint8_t *out,
                             size_t size_out, struct error *err);
/* Takes the place of zlib, libzstd and libbrotlidec, with the same result: in another process
 * (decoder.h). NULL: they are called here. Set before threads. */
typedef int parquet_unpack_elsewhere(int codec, struct parquet_unpack_bytes in, uint8_t *out,
                                     size_t size_out, struct error *err);
void parquet_unpack_by(parquet_unpack_elsewhere *elsewhere);
/* The CRC-32 of gzip, as pages have it. */
uint32_t parquet_unpack_crc(const uint8_t *data, size_t size);
