// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/parquet_unpack.h"

#include "agent/data/parquet/lz_block.h"

#include <brotli/decode.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* gzip, or zlib's own frame, of one member or several. */
static bool unpack_gzip(struct parquet_unpack_bytes in, uint8_t *out, size_t size_out) {
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)in.data,
                       .avail_in = (uInt)in.size,
                       .next_out = out,
                       .avail_out = (uInt)size_out};
    if (in.size > INT32_MAX || size_out > INT32_MAX || inflateInit2(&stream, 15 + 32) != Z_OK) {
        return false;
    }
    int result = inflate(&stream, Z_FINISH);
    while (result == Z_STREAM_END && stream.avail_in > 0 && inflateReset(&stream) == Z_OK) {
        result = inflate(&stream, Z_FINISH);
    }
    inflateEnd(&stream);
    return result == Z_STREAM_END && stream.avail_out == 0;
}

static bool unpack_brotli(struct parquet_unpack_bytes in, uint8_t *out, size_t size_out) {
    size_t size = size_out;
    return BrotliDecoderDecompress(in.size, in.data, &size, out) == BROTLI_DECODER_RESULT_SUCCESS &&
           size == size_out;
}

static size_t big_endian(const uint8_t *at) {
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* Hadoop's frames: size of the unpacked block, size of the packed one, the block. */
static bool unpack_frames(struct parquet_unpack_bytes in, uint8_t *out, size_t size_out) {
    while (in.size >= 8) {
        size_t unpacked = big_endian(in.data), packed = big_endian(in.data + 4);
        if (packed > in.size - 8 || unpacked > size_out ||
            !lz_block_lz4(in.data + 8, packed, out, unpacked)) {
            return false;
        }
        in.data += 8 + packed;
        in.size -= 8 + packed;
        out += unpacked;
        size_out -= unpacked;
    }
    return in.size == 0 && size_out == 0;
}

static parquet_unpack_elsewhere *elsewhere;

void parquet_unpack_by(parquet_unpack_elsewhere *other) {
    elsewhere = other;
}

int parquet_unpack(int codec, struct parquet_unpack_bytes in, uint8_t *out, size_t size_out,
                   struct error *err) {
    bool is_sound = false,
         is_foreign = codec == PARQUET_GZIP || codec == PARQUET_BROTLI || codec == PARQUET_ZSTD;
    if (is_foreign && elsewhere) {
        return elsewhere(codec, in, out, size_out, err);
    }
    switch (codec) {
    case PARQUET_UNCOMPRESSED:
        is_sound = in.size == size_out;
        memcpy(out, in.data, is_sound ? size_out : 0);
        break;
    case PARQUET_SNAPPY:
        is_sound = lz_block_snappy(in.data, in.size, out, size_out);
        break;
    case PARQUET_GZIP:
        is_sound = unpack_gzip(in, out, size_out);
        break;
    case PARQUET_BROTLI:
        is_sound = unpack_brotli(in, out, size_out);
        break;
    case PARQUET_LZ4_HADOOP: /* some writers left the frames out */
        is_sound =
            unpack_frames(in, out, size_out) || lz_block_lz4(in.data, in.size, out, size_out);
        break;
    case PARQUET_ZSTD:
        is_sound = ZSTD_decompress(out, size_out, in.data, in.size) == size_out;
        break;
    case PARQUET_LZ4_RAW:
        is_sound = lz_block_lz4(in.data, in.size, out, size_out);
        break;
    case PARQUET_LZO:
        return error_set(err, ERROR_INVALID, "is compressed with LZO; LZO is not supported");
    default:
        return error_set(err, ERROR_INVALID, "is compressed with an unknown codec, %d", codec);
    }
    return is_sound ? 0
                    : error_set(err, ERROR_INVALID, "damaged: it does not unpack to %zu bytes",
                                size_out);
}

uint32_t parquet_unpack_crc(const uint8_t *data, size_t size) {
    return (uint32_t)crc32_z(0, data, size);
}
