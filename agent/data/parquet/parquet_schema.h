/* parquet_schema.h: the columns of a Parquet file, of its schema: a tree in depth-first order,
 * whose leaves hold values. A column is a leaf that is a single value or a list of values in each
 * row; a leaf of a group has the JSON pointer of its path as name ("/user/age"). Maps, lists of
 * lists and lists of groups are known by name, with a refusal. */
#pragma once

#include "agent/data/parquet/parquet_format.h"
#include "agent/data/parquet/thrift_reader.h"
#include "lib/error.h"

enum {
    PARQUET_LEAVES_MAX = 1 << 16,
    PARQUET_NAME_MAX = 4 << 10, /* bytes of a column's name */
    PARQUET_WIDTH_MAX = 1 << 20 /* bytes of a value of fixed length */
};

/* What a value means. */
enum parquet_meaning {
    PARQUET_MEANS_NULL, /* never a value */
    PARQUET_MEANS_BOOLEAN,
    PARQUET_MEANS_INT,
    PARQUET_MEANS_UINT,
    PARQUET_MEANS_FLOAT,
    PARQUET_MEANS_DOUBLE,
    PARQUET_MEANS_HALF,
    PARQUET_MEANS_DECIMAL,   /* unscaled; `scale` digits are behind the point */
    PARQUET_MEANS_DATE,      /* days since 1970 */
    PARQUET_MEANS_TIME,      /* of a day, in `unit` */
    PARQUET_MEANS_TIMESTAMP, /* since 1970, in `unit` */
    PARQUET_MEANS_INT96,     /* ns of the day (64 bits), then the Julian day (32 bits) */
    PARQUET_MEANS_TEXT,      /* UTF-8 */
    PARQUET_MEANS_BYTES,
    PARQUET_MEANS_UUID,
    PARQUET_MEANS_INTERVAL, /* months, days, ms: 32 bits each */
    PARQUET_MEANS_COUNT
};
const char *parquet_meaning_name(enum parquet_meaning kind); /* "text", ... */

struct parquet_leaf {
    char *name;
    const char *refusal; /* NULL, or what it is that is not read; static */
    enum parquet_type type;
    enum parquet_meaning kind;
    int32_t width; /* bytes of a value of fixed length; of INT96: 12 */
    int scale, precision;
    enum parquet_unit unit;
    bool is_utc;             /* of times and timestamps */
    uint8_t definition_max;  /* the level at which a value is there */
    uint8_t list_definition; /* of a list: the level from which an element is there; one less: the
                                list is empty; still less: it is null. 0: not a list */
    size_t leaf;             /* its place in a row group's chunks */
};

struct parquet_schema {
    struct parquet_leaf *columns;
    size_t count;
    size_t leaves;
};

/* Reads the list of schema elements. INVALID says what is wrong. */
NODISCARD int parquet_schema_read(struct thrift_reader *reader, const struct thrift_field *field,
                                  struct parquet_schema *ret_schema, struct error *err);
void parquet_schema_release(struct parquet_schema *schema); /* for AUTO, too */
