/* thrift.h: types of Thrift's compact protocol, in which Parquet files describe themselves
 * (thrift-compact-protocol.md of Apache Thrift): thrift_reader.h reads it, thrift_writer.h writes
 * it. */
#pragma once

#include "lib/base.h"

/* As in a field's head. In lists THRIFT_TRUE stands for all booleans. */
enum thrift_type {
    THRIFT_STOP = 0,
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_I8 = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_DOUBLE = 7,
    THRIFT_BINARY = 8, /* and text */
    THRIFT_LIST = 9,
    THRIFT_SET = 10,
    THRIFT_MAP = 11,
    THRIFT_STRUCT = 12,
};

enum { THRIFT_DEPTH_MAX = 24 /* of structs and lists in each other */ };
