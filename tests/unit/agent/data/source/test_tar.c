// SPDX-License-Identifier: Apache-2.0
/* Archives as Python's tarfile writes them in three formats; every cut and every wrong size is
 * refused; what is skipped is counted. */
#include "agent/data/source/tar.h"
#include "tests/unit/agent/data/fixtures.h"

static const char make_tars[] =
    "import io, sys, tarfile\n"
    "out = sys.argv[1] + '/'\n"
    "long = 'd/' * 200 + 'x.jpg'\n"
    "def make(name, format, members, change=None):\n"
    "    with tarfile.open(out + name, 'w', format=format) as t:\n"
    "        for n, size in members:\n"
    "            info = tarfile.TarInfo(n)\n"
    "            info.size = size\n"
    "            if change: change(info)\n"
    "            t.addfile(info, io.BytesIO(bytes(i % 251 for i in range(size))))\n"
    "u, g, p = tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT\n"
    "make('ustar', u, [('./a.jpg', 5), ('b/' * 60 + 'c.cls', 600), ('empty', 0), ('big', 70000)])\n"
    "make('gnu', g, [(long, 5), ('short', 512)])\n"
    "make('pax', p, [(long, 5), ('\\u00e4.cls', 513)])\n"
    "make('none', u, [])\n"
    "def pax(**more):\n"
    "    def change(info): info.pax_headers = {k.replace('_', '.'): v for k, v in more.items()}\n"
    "    return change\n"
    "make('sparse', p, [('s', 5)], pax(GNU_sparse_major='1'))\n"
    "make('huge', p, [('s', 5)], pax(size='9999999999'))\n"
    "make('wide', p, [('s', 5)], pax(comment='x' * 70000))\n"
    "make('longer', p, [('n' * 2000, 5)])\n"
    "def kind(type):\n"
    "    def change(info): info.type, info.linkname = type, 'else'\n"
    "    return change\n"
    "make('gnu-sparse', g, [('s', 5)], kind(tarfile.GNUTYPE_SPARSE))\n"
    "make('links', g, [('s', 0), ('t', 0)], kind(tarfile.SYMTYPE))\n"
    "b = bytearray(open(out + 'ustar', 'rb').read())\n"
    "b[3] ^= 1\n"
    "open(out + 'sum', 'wb').write(b)\n"
    "b = bytearray(open(out + 'gnu', 'rb').read())\n"
    "open(out + 'gz', 'wb').write(b'\\x1f\\x8b' + b'x' * 600)\n";

struct file {
    char *bytes;
    size_t size;
};

static int read_file(void *context, int64_t offset, void *to, size_t size,
                     struct error *err UNUSED) {
    const struct file *file = context;
    CHECK(offset >= 0 && (size_t)offset + size <= file->size);
    memcpy(to, file->bytes + offset, size);
    return 0;
}

static struct file load(const char *name) {
    struct error err = {0};
    struct file file = {0};
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    CHECK_OK(file_read(path, 1 << 24, &file.bytes, &file.size, &err), &err);
    return file;
}

static struct tar open_tar(struct file *file, size_t window) {
    return (struct tar){.size_bytes = (int64_t)file->size,
                        .window_max = window,
                        .read = read_file,
                        .context = file};
}

/* The names and sizes of all files as one text. */
static char *list(const char *name, size_t window, struct error *err) {
    struct file file = load(name);
    AUTO(tar_release) struct tar tar = open_tar(&file, window);
    struct tar_member member;
    char *text = x_strdup("");
    int more;
    while ((more = tar_next(&tar, &member, err)) > 0) {
        for (int64_t i = 0; i < member.size_bytes; i++) {
            CHECK((uint8_t)file.bytes[member.offset + i] == i % 251);
        }
        const char *shown = strlen(member.name) > 40 ? "LONG" : member.name;
        CHECK(strlen(member.name) <= 40 || strlen(member.name) == 405 ||
              strlen(member.name) == 125);
        char *longer = x_printf("%s%s:%lld ", text, shown, (long long)member.size_bytes);
        free(text);
        text = longer;
    }
    if (tar.others) {
        char *longer = x_printf("%sothers:%lld", text, (long long)tar.others);
        free(text);
        text = longer;
    }
    free(file.bytes);
    return text;
}

static void test_each_format_is_read(void) {
    static const struct {
        const char *name, *files;
    } rows[] = {
        {"ustar", "a.jpg:5 LONG:600 empty:0 big:70000 "},
        {"gnu", "LONG:5 short:512 "},
        {"pax", "LONG:5 \xc3\xa4.cls:513 "},
        {"none", ""},
        {"links", "others:2"},
    };
    static const size_t windows[] = {TAR_BLOCK, 1500, 1 << 20};
    for (size_t i = 0; i < 3 * ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *files = list(rows[i / 3].name, windows[i % 3], &err);
        CHECK_STR(files, rows[i / 3].files);
        CHECK_STR(err.text, "");
    }
}

static void test_what_is_hostile_is_refused(void) {
    static const struct {
        const char *name, *says;
        enum error_kind kind;
    } rows[] = {
        {"sparse", "a sparse file; write the archive without --sparse", ERROR_UNSUPPORTED},
        {"gnu-sparse", "a sparse file or a part of an archive", ERROR_UNSUPPORTED},
        {"huge", "truncated: a member at byte 1024", ERROR_INVALID},
        {"wide", "a header of 70", ERROR_INVALID},
        {"longer", "a name of 2000 bytes", ERROR_INVALID},
        {"sum", "is not a tar archive: a wrong checksum at byte 0", ERROR_INVALID},
        {"gz", "is not a tar archive", ERROR_INVALID},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *files = list(rows[i].name, 4096, &err);
        CHECK(strstr(err.text, rows[i].says) || (printf("# %s: %s\n", rows[i].name, err.text), 0));
        CHECK_INT(err.kind, rows[i].kind);
    }
}

/* At every byte; the files before the cut are there. */
static void test_cut_anywhere_is_an_error(void) {
    struct file file = load("gnu");
    size_t end = file.size;
    while (end && file.bytes[end - 1] == 0) {
        end--;
    }
    end = (end + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    for (size_t size = 0; size <= end + TAR_BLOCK - 1; size++) {
        struct file part = {x_malloc(size + 1), size}; /* reads beyond it are found */
        memcpy(part.bytes, file.bytes, size);
        AUTO(tar_release) struct tar tar = open_tar(&part, 2048);
        struct tar_member member;
        struct error err = {0};
        int more;
        while ((more = tar_next(&tar, &member, &err)) > 0) {
            CHECK(member.offset + member.size_bytes <= (int64_t)size);
        }
        CHECK(more == -1 && err.kind == ERROR_INVALID && strstr(err.text, "truncated"));
        free(part.bytes);
    }
    free(file.bytes);
}

int main(void) {
    fixtures_start("tar");
    struct error err = {0};
    AUTO(text_freep) char *script = x_printf("%s/make.py", fixtures_out);
    CHECK_OK(file_write(script, make_tars, sizeof make_tars - 1, &err), &err);
    AUTO(text_freep) char *command = x_printf("/usr/bin/python3 %s %s", script, fixtures_out);
    CHECK_INT(system(command), 0);
    TEST(test_each_format_is_read);
    TEST(test_what_is_hostile_is_refused);
    TEST(test_cut_anywhere_is_an_error);
    return TEST_END();
}
