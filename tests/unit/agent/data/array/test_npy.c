// SPDX-License-Identifier: Apache-2.0
/* Arrays as numpy itself writes them: every type, version and rank; what is refused, with the name
 * in the message. */
#include "agent/data/array/npy.h"
#include "tests/unit/agent/data/fixtures.h"

#include <math.h>

/* numpy writes element k (in C order) of every array as value(k); this test does the same. */
static const char make_arrays[] =
    "import io, sys, numpy as n\n"
    "out = sys.argv[1] + '/npy/'\n"
    "def fill(kind, shape):\n"
    "    k = n.arange(int(n.prod(shape)), dtype='i8')\n"
    "    if kind == 'b1': return (k % 3 == 1).reshape(shape)\n"
    "    v = k * 7 % 121 - (0 if kind[0] == 'u' else 50)\n"
    "    return (v / 8 if kind[0] == 'f' else v).astype(kind).reshape(shape)\n"
    "for kind in 'f2 f4 f8 i1 u1 i2 u2 i4 u4 i8 b1'.split():\n"
    "    for rank, shape in enumerate([(5,), (5, 3), (5, 3, 2), (5, 1, 1, 2, 1, 3, 1, 2)]):\n"
    "        n.save(out + kind + '-%d.npy' % rank, fill(kind, shape))\n"
    "        n.save(out + 'fortran-' + kind + '-%d.npy' % rank,\n"
    "               n.asfortranarray(fill(kind, shape).astype('>' + kind)))\n"
    "        n.save(out + 'big-' + kind + '-%d.npy' % rank, fill(kind, shape).astype('>' + kind))\n"
    "for version in (1, 2, 3):\n"
    "    with open(out + 'v%d.npy' % version, 'wb') as f:\n"
    "        n.lib.format.write_array(f, fill('f4', (5, 3)), version=(version, 0))\n"
    "n.save(out + 'empty.npy', n.zeros((0, 3), 'f4'))\n"
    "n.save(out + 'halves.npy', n.array([0.0, -0.0, 2.0**-24, -2.0**-14, 65504, n.inf, -n.inf,\n"
    "                                    n.nan, 1/3], 'f2'))\n"
    "n.save(out + 'long.npy', n.asfortranarray(fill('f4', (40000, 7, 3))))\n"
    "n.save(out + 'complex.npy', n.zeros(3, 'c16'))\n"
    "n.save(out + 'u8.npy', n.zeros(3, 'u8'))\n"
    "n.save(out + 'text.npy', n.array(['abc']))\n"
    "n.save(out + 'object.npy', n.array([{}], dtype=object))\n"
    "n.save(out + 'fields.npy', n.zeros(3, [('x', 'f4'), ('y', 'i4')]))\n"
    "n.save(out + 'scalar.npy', n.float32(3))\n"
    "n.save(out + 'nothing.npy', n.zeros((4, 0), 'f4'))\n"
    "n.save(out + 'axes.npy', n.zeros((1,) * 9, 'f4'))\n"
    "n.save(out + 'cut.npy', fill('f4', (5, 3)))\n"
    "open(out + 'cut.npy', 'r+b').truncate(150)\n"
    "n.save(out + 'more.npy', fill('f4', (5, 3)))\n"
    "open(out + 'more.npy', 'ab').write(b'x')\n"
    "open(out + 'head.npy', 'wb').write(b'\\x93NUMPY\\2\\0\\xff\\xff\\0\\0' + b' ' * 70000)\n"
    "n.savez(out + 'pack.npz', fill('f4', (5, 3)))\n"
    "import os; os.rename(out + 'pack.npz', out + 'pack.npy')\n"
    "n.save(out + 'large.npy', n.array([65535, 40000], 'u2'))\n"
    "n.save(out + 'larger.npy', n.array([2**32 - 1, 2**31], '>u4'))\n"
    "open(out + 'none.npy', 'wb').write(b'PK')\n";

static struct store *store;

static double value_at(enum npy_type type, int64_t k) {
    bool is_unsigned = type == NPY_UINT8 || type == NPY_UINT16 || type == NPY_UINT32;
    int64_t whole = k * 7 % 121 - (is_unsigned ? 0 : 50);
    return type == NPY_BOOL ? k % 3 == 1 : type <= NPY_FLOAT64 ? (double)whole / 8 : (double)whole;
}

static double seen_at(enum npy_type type, const void *values, int64_t k) {
    switch (type) {
    case NPY_FLOAT16:
    case NPY_FLOAT32:
        return (double)((const float *)values)[k];
    case NPY_FLOAT64:
        return ((const double *)values)[k];
    case NPY_INT8:
        return ((const int8_t *)values)[k];
    case NPY_INT16:
    case NPY_UINT16:
    case NPY_INT32:
        return ((const int32_t *)values)[k];
    case NPY_UINT32:
    case NPY_INT64:
        return (double)((const int64_t *)values)[k];
    default:
        return ((const uint8_t *)values)[k];
    }
}

/* All ranges of slices of an array of 5. */
static void check_array(const char *name, enum npy_type type, int rank) {
    struct error err = {0};
    struct npy npy;
    struct store_info info;
    CHECK_OK(npy_open(store, name, &npy, &info, &err), &err);
    if (err.kind) {
        return;
    }
    CHECK_INT(npy.type, type);
    CHECK_INT(npy.rank, rank);
    CHECK_INT(npy.dims[0], 5);
    int64_t size = npy_slice_values(&npy);
    for (int64_t first = 0; first <= 5; first++) {
        for (int64_t count = 0; first + count <= 5; count++) {
            AUTO(text_freep) char *values = NULL;
            struct npy_range range = {first, count};
            const struct npy_object object = {store, name, &npy, info.token};
            CHECK_OK(npy_read(&object, range, (void **)&values, &err), &err);
            for (int64_t k = 0; k < count * size && !test_failures; k++) {
                CHECK(seen_at(type, values, k) == value_at(type, first * size + k));
            }
        }
    }
}

static void test_every_type_and_rank_is_read(void) {
    static const int ranks[] = {1, 2, 3, 8};
    for (int type = 0; type < NPY_TYPE_COUNT; type++) {
        for (size_t i = 0; i < ARRAY_LEN(ranks); i++) {
            char name[32];
            snprintf(name, sizeof name, "%s-%zu.npy", npy_type_name((enum npy_type)type), i);
            check_array(name, (enum npy_type)type, ranks[i]);
            snprintf(name, sizeof name, "big-%s-%zu.npy", npy_type_name((enum npy_type)type), i);
            check_array(name, (enum npy_type)type, ranks[i]);
            snprintf(name, sizeof name, "fortran-%s-%zu.npy", npy_type_name((enum npy_type)type),
                     i);
            check_array(name, (enum npy_type)type, ranks[i]);
        }
    }
    for (int version = 1; version <= 3; version++) {
        char name[32];
        snprintf(name, sizeof name, "v%d.npy", version);
        check_array(name, NPY_FLOAT32, 2);
    }
}

/* Few slices of many, so that columns are read one by one; many; and all. */
static void test_a_long_array_in_fortran_order(void) {
    static const struct npy_range ranges[] = {{0, 1},         {39999, 1}, {17, 300},
                                              {20000, 20000}, {5, 39990}, {0, 40000}};
    struct error err = {0};
    struct npy npy;
    struct store_info info;
    CHECK_OK(npy_open(store, "long.npy", &npy, &info, &err), &err);
    CHECK(npy.is_fortran);
    const struct npy_object object = {store, "long.npy", &npy, info.token};
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        AUTO(text_freep) char *values = NULL;
        CHECK_OK(npy_read(&object, ranges[i], (void **)&values, &err), &err);
        for (int64_t k = 0; values && k < ranges[i].count * 21 && !test_failures; k++) {
            CHECK(seen_at(NPY_FLOAT32, values, k) ==
                  value_at(NPY_FLOAT32, ranges[i].first * 21 + k));
        }
    }
}

static void test_halves_are_exact(void) {
    static const float wanted[] = {0.0f,     -0.0f,     0x1p-24f, -0x1p-14f,  65504,
                                   INFINITY, -INFINITY, NAN,      0x1.554p-2f};
    struct error err = {0};
    struct npy npy;
    struct store_info info;
    AUTO(text_freep) char *values = NULL;
    CHECK_OK(npy_open(store, "halves.npy", &npy, &info, &err), &err);
    const struct npy_object object = {store, "halves.npy", &npy, info.token};
    CHECK_OK(npy_read(&object, (struct npy_range){0, 9}, (void **)&values, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        float seen = ((const float *)(const void *)values)[i];
        CHECK(isnan(wanted[i]) ? isnan(seen)
                               : seen == wanted[i] && signbit(seen) == signbit(wanted[i]));
    }
}

static void test_the_largest_unsigned_numbers(void) {
    struct error err = {0};
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "larger.npy" : "large.npy";
        struct npy npy;
        struct store_info info;
        AUTO(text_freep) char *values = NULL;
        CHECK_OK(npy_open(store, name, &npy, &info, &err), &err);
        const struct npy_object object = {store, name, &npy, info.token};
        CHECK_OK(npy_read(&object, (struct npy_range){0, 2}, (void **)&values, &err), &err);
        CHECK(seen_at(npy.type, values, 0) == (i ? 4294967295.0 : 65535));
        CHECK(seen_at(npy.type, values, 1) == (i ? 2147483648.0 : 40000));
    }
}

static void test_an_array_without_slices_is_one(void) {
    struct error err = {0};
    struct npy npy;
    struct store_info info;
    CHECK_OK(npy_open(store, "empty.npy", &npy, &info, &err), &err);
    CHECK_INT(npy.dims[0], 0);
}

/* The storage's fault, and not the bytes': a training must not take it for bad samples. */
static void test_a_file_that_is_shorter_now_has_changed(void) {
    struct error err = {0};
    struct npy npy;
    struct store_info info;
    void *values = NULL;
    CHECK_OK(npy_open(store, "halves.npy", &npy, &info, &err), &err);
    npy.dims[0]++; /* as if an element had been cut off since */
    const struct npy_object object = {store, "halves.npy", &npy, info.token};
    CHECK_INT(npy_read(&object, (struct npy_range){0, npy.dims[0]}, &values, &err), -1);
    CHECK(err.kind == ERROR_CONFLICT && strstr(err.text, "halves.npy: the file is shorter"));
}

static void test_what_is_refused_says_why(void) {
    static const struct {
        const char *name;
        enum error_kind kind;
        const char *words;
    } rows[] = {
        {"complex", ERROR_UNSUPPORTED,
         "its elements are \"<c16\", expected one of <f2 <f4 <f8 |i1 |u1 <i2 <u2 <i4 <u4 <i8 |b1: "
         "save them as one of these (array.astype)"},
        {"u8", ERROR_UNSUPPORTED,
         "its elements are \"<u8\", expected one of <f2 <f4 <f8 |i1 |u1 <i2 <u2 <i4 <u4 <i8 |b1: "
         "save them as one of these (array.astype)"},
        {"text", ERROR_UNSUPPORTED,
         "its elements are \"<U3\", expected one of <f2 <f4 <f8 |i1 |u1 <i2 <u2 <i4 <u4 <i8 |b1: "
         "save them as one of these (array.astype)"},
        {"object", ERROR_UNSUPPORTED,
         "its elements are \"|O\", expected one of <f2 <f4 <f8 |i1 |u1 <i2 <u2 <i4 <u4 <i8 |b1: "
         "save them as one of these (array.astype)"},
        {"fields", ERROR_UNSUPPORTED,
         "its elements are structures, expected numbers or booleans; save each field as an array "
         "of its own"},
        {"axes", ERROR_UNSUPPORTED, "it has 9 axes: at most 8 are supported"},
        {"scalar", ERROR_INVALID, "its shape is () (a scalar), expected at least one axis"},
        {"nothing", ERROR_INVALID, "its slices have no elements: axis 1 has length 0"},
        {"cut", ERROR_INVALID, "has 150 bytes, expected 188: it is truncated"},
        {"more", ERROR_INVALID, "has 189 bytes, expected 188: there is more after its array"},
        {"head", ERROR_INVALID, "has a header of more than 65536 bytes"},
        {"pack", ERROR_INVALID,
         "is a zip archive (.npz), and not a .npy file: save each of its arrays by numpy.save"},
        {"none", ERROR_INVALID, "not a .npy file"},
        {"missing", ERROR_NOT_FOUND, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct npy npy;
        struct store_info info;
        AUTO(text_freep) char *name = x_printf("%s.npy", rows[i].name);
        AUTO(text_freep) char *words = x_printf("out/npy/%s: %s", name, rows[i].words);
        CHECK_INT(npy_open(store, name, &npy, &info, &err), -1);
        CHECK_INT(err.kind, rows[i].kind);
        CHECK_STR(err.text, rows[i].words ? words : err.text);
    }
}

static void test_heads_are_read_as_far_as_numpy_writes_them(void) {
    static const struct {
        const char *head;
        bool is_good;
    } rows[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", true},
        {"{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}", true},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n", true},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }", true},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9), }", true},
        {"{'descr': '<f4', 'fortran_order': False, }", false},
        {"{'descr': '<f4', 'shape': (2,), }", false},
        {"{'fortran_order': False, 'shape': (2,), }", false},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,,), }", false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }", false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 99999999999), }", false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x", false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,", false},
        {"{'descr': '<f4, 'fortran_order': False, 'shape': (2,), }", false},
        {"{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (2,), }", false},
        {"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct npy npy;
        char text[256];
        size_t length = strlen(rows[i].head);
        int before = snprintf(text, sizeof text, "\x93NUMPY\1%c%c%c%s", 0, (int)length, 0, "");
        memcpy(text + before, rows[i].head, length);
        size_t size = (size_t)before + length;
        CHECK_INT(npy_parse(text, size, &npy, &err), rows[i].is_good ? 0 : -1);
        for (size_t cut = 0; cut < size; cut++) { /* cut anywhere */
            struct error ignored = {0};
            CHECK_INT(npy_parse(text, cut, &npy, &ignored), -1);
        }
    }
}

int main(void) {
    fixtures_start("npy");
    struct error err = {0};
    AUTO(text_freep) char *folder = x_printf("%s/npy", fixtures_out);
    AUTO(text_freep) char *script = x_printf("%s/make.py", fixtures_out);
    CHECK_OK(file_make_folders(folder, &err), &err);
    CHECK_OK(file_write(script, make_arrays, sizeof make_arrays - 1, &err), &err);
    AUTO(text_freep) char *command = x_printf("/usr/bin/python3 %s %s", script, fixtures_out);
    CHECK_INT(system(command), 0);
    CHECK_OK(store_open("out/npy", /* writes= */ false, &store, &err), &err);
    TEST(test_every_type_and_rank_is_read);
    TEST(test_a_long_array_in_fortran_order);
    TEST(test_halves_are_exact);
    TEST(test_the_largest_unsigned_numbers);
    TEST(test_an_array_without_slices_is_one);
    TEST(test_a_file_that_is_shorter_now_has_changed);
    TEST(test_what_is_refused_says_why);
    TEST(test_heads_are_read_as_far_as_numpy_writes_them);
    store_free(store);
    return TEST_END();
}
