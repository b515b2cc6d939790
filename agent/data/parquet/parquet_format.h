/* parquet_format.h: the numbers of the Parquet format, as parquet.thrift of Apache Parquet 2.11
 * defines them, for reader and writer. */
#pragma once

enum {
    PARQUET_TAIL_BYTES =
        8, /* a file ends with the footer's size (32 bits, little-endian), "PAR1" */
};
#define PARQUET_MAGIC "PAR1"
#define PARQUET_MAGIC_ENCRYPTED "PARE" /* the footer is encrypted */

enum parquet_type {
    PARQUET_BOOLEAN = 0,
    PARQUET_INT32 = 1,
    PARQUET_INT64 = 2,
    PARQUET_INT96 = 3,
    PARQUET_FLOAT = 4,
    PARQUET_DOUBLE = 5,
    PARQUET_BYTE_ARRAY = 6,
    PARQUET_FIXED_LEN_BYTE_ARRAY = 7,
    PARQUET_TYPE_COUNT
};

enum parquet_repetition { PARQUET_REQUIRED = 0, PARQUET_OPTIONAL = 1, PARQUET_REPEATED = 2 };

enum parquet_encoding {
    PARQUET_PLAIN = 0,
    PARQUET_PLAIN_DICTIONARY = 2,
    PARQUET_RLE = 3,
    PARQUET_BIT_PACKED = 4,
    PARQUET_DELTA_BINARY_PACKED = 5,
    PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
    PARQUET_DELTA_BYTE_ARRAY = 7,
    PARQUET_RLE_DICTIONARY = 8,
    PARQUET_BYTE_STREAM_SPLIT = 9,
};

enum parquet_codec {
    PARQUET_UNCOMPRESSED = 0,
    PARQUET_SNAPPY = 1,
    PARQUET_GZIP = 2,
    PARQUET_LZO = 3,
    PARQUET_BROTLI = 4,
    PARQUET_LZ4_HADOOP = 5, /* "LZ4", deprecated: with Hadoop's frames around each block */
    PARQUET_ZSTD = 6,
    PARQUET_LZ4_RAW = 7,
};

enum parquet_page_type {
    PARQUET_PAGE_DATA = 0,
    PARQUET_PAGE_INDEX = 1,
    PARQUET_PAGE_DICTIONARY = 2,
    PARQUET_PAGE_DATA_V2 = 3,
};

/* SchemaElement.converted_type, of older files */
enum parquet_converted {
    PARQUET_CONVERTED_UTF8 = 0,
    PARQUET_CONVERTED_MAP = 1,
    PARQUET_CONVERTED_MAP_KEY_VALUE = 2,
    PARQUET_CONVERTED_LIST = 3,
    PARQUET_CONVERTED_ENUM = 4,
    PARQUET_CONVERTED_DECIMAL = 5,
    PARQUET_CONVERTED_DATE = 6,
    PARQUET_CONVERTED_TIME_MILLIS = 7,
    PARQUET_CONVERTED_TIME_MICROS = 8,
    PARQUET_CONVERTED_TIMESTAMP_MILLIS = 9,
    PARQUET_CONVERTED_TIMESTAMP_MICROS = 10,
    PARQUET_CONVERTED_UINT_8 = 11,
    PARQUET_CONVERTED_UINT_16 = 12,
    PARQUET_CONVERTED_UINT_32 = 13,
    PARQUET_CONVERTED_UINT_64 = 14,
    PARQUET_CONVERTED_INT_8 = 15,
    PARQUET_CONVERTED_INT_16 = 16,
    PARQUET_CONVERTED_INT_32 = 17,
    PARQUET_CONVERTED_INT_64 = 18,
    PARQUET_CONVERTED_JSON = 19,
    PARQUET_CONVERTED_BSON = 20,
    PARQUET_CONVERTED_INTERVAL = 21,
};

/* The fields of the union SchemaElement.logicalType */
enum parquet_logical {
    PARQUET_LOGICAL_STRING = 1,
    PARQUET_LOGICAL_MAP = 2,
    PARQUET_LOGICAL_LIST = 3,
    PARQUET_LOGICAL_ENUM = 4,
    PARQUET_LOGICAL_DECIMAL = 5, /* 1: scale, 2: precision */
    PARQUET_LOGICAL_DATE = 6,
    PARQUET_LOGICAL_TIME = 7,      /* 1: isAdjustedToUTC, 2: unit */
    PARQUET_LOGICAL_TIMESTAMP = 8, /* 1: isAdjustedToUTC, 2: unit */
    PARQUET_LOGICAL_INTEGER = 10,  /* 1: bitWidth, 2: isSigned */
    PARQUET_LOGICAL_UNKNOWN = 11,  /* always null */
    PARQUET_LOGICAL_JSON = 12,
    PARQUET_LOGICAL_BSON = 13,
    PARQUET_LOGICAL_UUID = 14,
    PARQUET_LOGICAL_FLOAT16 = 15,
};

/* The fields of the union TimeUnit */
enum parquet_unit { PARQUET_MILLIS = 1, PARQUET_MICROS = 2, PARQUET_NANOS = 3 };
