/* npy.h: arrays in files as numpy.save writes them (NEP 1, versions 1 to 3), read slice by slice
 * along their first axis. Elements: f2 f4 f8 i1 u1 i2 u2 i4 u4 i8 b1, of either byte order, in C or
 * Fortran order (which costs a read per element of a slice, unless an array has few slices or all
 * are read); everything else (structures, objects) is UNSUPPORTED, and the error names it. Any
 * thread. */
#pragma once

#include "agent/store/store.h"

enum {
    NPY_RANK_MAX = 8,
    NPY_HEAD_MAX = 64 << 10,      /* maximum of bytes before the elements */
    NPY_SLICES_BYTES = 256 << 20, /* maximum of one npy_read, as values */
};

enum npy_type {
    NPY_FLOAT16, /* its values are float */
    NPY_FLOAT32,
    NPY_FLOAT64,
    NPY_INT8,
    NPY_UINT8,
    NPY_INT16,  /* its values are int32_t */
    NPY_UINT16, /* its values are int32_t */
    NPY_INT32,
    NPY_UINT32, /* its values are int64_t */
    NPY_INT64,
    NPY_BOOL,
    NPY_TYPE_COUNT
};

struct npy {
    enum npy_type type;
    bool is_fortran;            /* in the file; npy_read returns C order */
    bool is_big_endian;         /* in the file; npy_read returns this machine's order */
    int rank;                   /* 1 to NPY_RANK_MAX */
    int64_t dims[NPY_RANK_MAX]; /* dims[0] slices; each >= 0 */
    int64_t head_bytes;         /* where the elements begin */
    int64_t slice_bytes;        /* in the file; at least 1 */
};
const char *npy_type_name(enum npy_type type);   /* "f2" */
size_t npy_value_bytes(enum npy_type type);      /* of one element, as npy_read returns it */
int64_t npy_slice_values(const struct npy *npy); /* elements of a slice */

/* data: the first bytes of a file, at most NPY_HEAD_MAX. Pure. INVALID: not an npy file, or
 * truncated. Errors do not name the file. */
NODISCARD int npy_parse(const char *data, size_t size, struct npy *ret_npy, struct error *err);

/* One slice; its values are borrowed. */
struct npy_slice {
    enum npy_type type;
    int rank; /* 0 for a number */
    int64_t dims[NPY_RANK_MAX - 1];
    const void *values;
};

struct npy_range {
    int64_t first, count; /* slices */
};

/* Reads the head of an object. *ret_info has the token for npy_read. INVALID as for npy_parse, and
 * when the object's size is not that of the array; errors name the object. */
NODISCARD int npy_open(struct store *store, const char *name, struct npy *ret_npy,
                       struct store_info *ret_info, struct error *err);

/* An array in a store, as npy_open found it. All pointers are borrowed. */
struct npy_object {
    struct store *store;
    const char *name;
    const struct npy *npy;
    const char *token; /* the object's change token (store.h) */
};

/* Makes of `count` elements as they are in the file, in C order, values as npy_read returns them,
 * at the same place, which must have room for these. */
void npy_convert(const struct npy *npy, void *elements, int64_t count);

/* A whole .npy file in memory: its values in C order, as npy_read returns them. The caller frees
 * *ret_values. INVALID, UNSUPPORTED as for npy_parse; also if `size` is not that of the array, or
 * its values exceed NPY_SLICES_BYTES. Pure. */
NODISCARD int npy_decode(const char *data, size_t size, struct npy *ret_npy, void **ret_values,
                         struct error *err);

/* Reads slices [first, first + count), which must exist, as contiguous values; booleans are 0 or 1.
 * The caller frees *ret_values. CONFLICT: the object has changed, or is shorter now; INVALID: the
 * slices exceed NPY_SLICES_BYTES. */
NODISCARD int npy_read(const struct npy_object *object, struct npy_range range, void **ret_values,
                       struct error *err);
