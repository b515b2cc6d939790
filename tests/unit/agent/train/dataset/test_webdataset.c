// SPDX-License-Identifier: Apache-2.0
/* Shards as the package webdataset writes them: samples, classes, what is left out, damaged ones.
 */
#include "agent/train/dataset/shards.h"
#include "lib/text/utf8.h"
#include "tests/unit/agent/data/fixtures.h"
#include "tests/unit/agent/train/dataset/sets.h"

static const char make_shards[] =
    "import io, json, os, shutil, sys, tarfile\n"
    "from PIL import Image\n"
    "out = sys.argv[1] + '/'\n"
    "def picture(i, kind):\n"
    "    b = io.BytesIO()\n"
    "    Image.new('RGB', (4 + i, 3), (i * 8, 255 - i * 8, 7)).save(b, kind)\n"
    "    return b.getvalue()\n"
    "def make(name, members):\n"
    "    os.makedirs(os.path.dirname(out + name), exist_ok=True)\n"
    "    with tarfile.open(out + name, 'w') as t:\n"
    "        for n, data in members:\n"
    "            info = tarfile.TarInfo(n)\n"
    "            info.size = len(data)\n"
    "            t.addfile(info, io.BytesIO(data))\n"
    "def sample(i):\n"
    "    label = [('cls', b'%d\\n' % (i % 5)), ('txt', b'%d' % (i % 5)),\n"
    "             ('json', json.dumps({'label': i % 5, 'more': 'x'}).encode())][i % 3]\n"
    "    kind = ['JPEG', 'PNG'][i % 2]\n"
    "    both = [('s/%03d.%s' % (i, kind.lower().replace('jpeg', 'jpg')), picture(i, kind)),\n"
    "            ('s/%03d.%s' % (i, label[0]), label[1])]\n"
    "    return both[::-1] if i % 4 == 3 else both\n"
    "for shard in range(3):\n"
    "    make('shards/train-%02d.tar' % shard, sum((sample(shard * 10 + i) for i in range(10)), "
    "[]))\n"
    "odd = sample(0) + [('s/n.jpg', picture(1, 'JPEG')), ('s/l.cls', b'1'), ('s/w.webp', "
    "b'RIFF'),\n"
    "                   ('s/w.cls', b'2'), ('s/bad.cls', b'1.5'), ('s/bad.jpg', picture(2, "
    "'JPEG')),\n"
    "                   ('s/cut.jpg', picture(3, 'JPEG')[:40]), ('s/cut.cls', b'3')] + sample(9)\n"
    "make('odd/odd.tar', odd)\n"
    "whole = open(out + 'shards/train-01.tar', 'rb').read()\n"
    "os.makedirs(out + 'cut')\n"
    "shutil.copytree(out + 'shards', out + 'moving/v1')\n"
    "open(out + 'cut/a.tar', 'wb').write(whole[:6 * 2048 + 700])\n"
    "make('cut/b.tar', sample(7))\n"
    "import numpy as np\n"
    "def array(a):\n"
    "    b = io.BytesIO()\n"
    "    np.save(b, a)\n"
    "    return b.getvalue()\n"
    "def both(key, data, label): return [(key + '.npy', data), (key + '.cls', b'%d' % label)]\n"
    "a = np.arange(24, dtype='<f4').reshape(2, 3, 4)\n"
    "make('arrays/a.tar', both('torn', array(a[:, :1])[:150], 0) + both('c', array(a), 1) +\n"
    "     both('fortran', array(np.asfortranarray(a + 100)), 2) + both('half', array((a / "
    "2).astype('>f2')), 0) +\n"
    "     both('other', array(a[:1]), 1) + both('integers', array(a.astype('i4')), 1) +\n"
    "     both('long', array(a) + b'x', 1) + [('p.jpg', picture(1, 'JPEG')), ('p.cls', b'1')])\n"
    "make('forged/a.tar', sample(7) + [('a\\n\\x1b[2Jepoch 1.gif', b'x'), ('\\u202e.x', b''),\n"
    "    ('b.aaaaaaaaaaaaaa\\u00e9\\u00e9', b''), ('d' * 194 + '\\u20ac\\u20ac\\u20ac', b'')])\n";

static const char range[] = "{\"webdataset\": {\"path\": \"out/shards/train-{00..02}.tar\"}}";

static void test_shards_are_read_in_every_form(void) {
    static const char *const specs[] = {range, "{\"webdataset\": {\"path\": \"out/shards\"}}"};
    for (size_t k = 0; k < ARRAY_LEN(specs); k++) {
        AUTO(dataset_closep) struct dataset *dataset = must_open(specs[k], NULL);
        AUTO(sample_release) struct sample sample = {0};
        struct error err = {0};
        CHECK(dataset->count == 30 && dataset->classes == 5 && dataset->strays.count == 0);
        for (int round = 0; round < 2; round++) { /* then from memory */
            for (int i = 0; i < 30; i++) {
                CHECK_OK(dataset_read(dataset, i, &sample, &err), &err);
                CHECK_INT(sample.label, i % 5);
                CHECK(shape_equal(&sample.shape, &(struct shape){3, {3, 3, 4 + i}}));
                int red = *(const uint8_t *)sample.data;
                CHECK(abs(red - i * 8) <= 4);
            }
        }
    }
    AUTO(dataset_closep)
    struct dataset *one =
        must_open("{\"webdataset\": {\"path\": \"out/shards/train-01.tar\"}}", NULL);
    CHECK_INT(one->count, 10);
}

static void test_what_is_left_out_is_told(void) {
    AUTO(dataset_closep)
    struct dataset *dataset = must_open("{\"webdataset\": {\"path\": \"out/odd\"}}", NULL);
    AUTO(sample_release) struct sample sample = {0};
    AUTO(text_freep) char *text = strays_text(&dataset->strays);
    struct error err = {0};
    CHECK_INT(dataset->count, 4);
    CHECK(strstr(text, "1 without a label"));
    CHECK(strstr(text, "2 without a picture (.jpg, .jpeg or .png) or array (.npy)"));
    CHECK(strstr(text, "1 .webp, which is not read: make them JPEG or PNG (such as s/w.webp)"));
    CHECK_OK(dataset_read(dataset, 0, &sample, &err), &err);
    CHECK_INT(dataset_read(dataset, 1, &sample, &err), -1);
    CHECK(strstr(err.text, "out/odd/odd.tar: s/bad.jpg at byte "));
    CHECK(strstr(err.text, "its label is not the number of a class"));
    CHECK(err.kind == ERROR_INVALID);
    err = (struct error){0};
    CHECK_INT(dataset_read(dataset, 2, &sample, &err), -1);
    CHECK(strstr(err.text, "out/odd/odd.tar: s/cut.jpg at byte ") && err.kind == ERROR_INVALID);
    CHECK_OK(dataset_read(dataset, 3, &sample, &err), &err);
}

/* The first readable one gives type and shape; what differs from it is a bad sample. */
static void test_arrays_are_samples(void) {
    static const struct {
        const char *error; /* NULL: the sample is read */
        float first, last;
        int64_t label;
    } rows[] = {
        {"torn.npy at byte 512: has 150 bytes, expected 160: it is truncated", 0, 0, 0},
        {NULL, 0, 23, 1},
        {NULL, 100, 123, 2},
        {NULL, 0, 11.5f, 0},
        {"other.npy at byte 8704: its type or shape differs from the first sample's", 0, 0, 0},
        {"integers.npy at byte 10752: its type or shape differs from the first sample's", 0, 0, 0},
        {"has 225 bytes, expected 224: there is more after its array", 0, 0, 0},
        {"p.jpg at byte 14848: it is a picture, and the first sample is an array", 0, 0, 0},
    };
    AUTO(dataset_closep)
    struct dataset *dataset = must_open("{\"webdataset\": {\"path\": \"out/arrays\"}}", NULL);
    AUTO(sample_release) struct sample sample = {0};
    CHECK_INT(dataset->count, ARRAY_LEN(rows));
    CHECK(dataset->type == TENSOR_FLOAT32 && dataset->classes == 3);
    CHECK(shape_equal(&dataset->shape, &(struct shape){3, {2, 3, 4}}));
    for (int64_t i = 0; i < (int64_t)ARRAY_LEN(rows); i++) {
        struct error err = {0};
        int result = dataset_read(dataset, i, &sample, &err);
        if (rows[i].error) {
            CHECK(result == -1 && err.kind == ERROR_INVALID);
            CHECK(strstr(err.text, rows[i].error) || (printf("# %s\n", err.text), 0));
            continue;
        }
        CHECK_OK(result, &err);
        const float *values = (const float *)sample.data;
        CHECK(values[0] == rows[i].first && values[23] == rows[i].last);
        CHECK(sample.label == rows[i].label && !sample.is_interleaved);
        CHECK(values[1] - values[0] == (rows[i].last - rows[i].first) / 23); /* C order */
    }
}

/* Names of members are anybody's bytes: the log gets one line without control characters. */
static void test_names_forge_no_lines_of_the_log(void) {
    AUTO(dataset_closep)
    struct dataset *dataset = must_open("{\"webdataset\": {\"path\": \"out/forged\"}}", NULL);
    AUTO(text_freep) char *text = strays_text(&dataset->strays);
    CHECK_INT(dataset->strays.count, 8); /* each key lacks a picture, too */
    CHECK(strstr(text, "such as a  [2Jepoch 1.gif"));
    AUTO(text_freep) char *line = x_strdup(text);
    utf8_make_line(line);
    CHECK_STR(text, line);
}

static void name_latest(const char *version) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/moving/latest", fixtures_out);
    CHECK_OK(file_write(path, version, strlen(version), &err), &err);
}

static bool move_latest(void) {
    name_latest("v2"); /* which has no shard */
    return false;
}

/* They are opened once, and not once a shard: so they are one version, too. */
static void test_shards_of_a_folder_share_its_store(void) {
    struct dataset_options options = {.is_stopped = move_latest};
    struct error err = {0};
    name_latest("v1");
    AUTO(dataset_closep)
    struct dataset *dataset = open_set(
        "{\"webdataset\": {\"path\": \"out/moving/latest/train-{00..02}.tar\"}}", &options, &err);
    CHECK(dataset || (printf("# %s\n", err.text), 0));
    CHECK(dataset && dataset->count == 30);
}

static int asked;
static bool stop_at_third(void) {
    return ++asked == 3;
}

static void test_a_stop_ends_the_index(void) {
    struct error err = {0};
    struct dataset_options options = {.is_stopped = stop_at_third};
    CHECK(!open_set(range, &options, &err));
    CHECK(err.kind == ERROR_CANCELLED && strstr(err.text, "stopped while the shards were indexed"));
    CHECK_INT(asked, 3); /* once a shard at least */
}

static void test_a_cut_shard_is_refused_or_its_rest_left_out(void) {
    struct error err = {0};
    struct dataset_options skips = {.skips_bad = true};
    static const char spec[] = "{\"webdataset\": {\"path\": \"out/cut\"}}";
    CHECK(!open_set(spec, NULL, &err));
    CHECK(strstr(err.text, "webdataset: out/cut/a.tar: truncated: ") && err.kind == ERROR_INVALID);
    AUTO(dataset_closep) struct dataset *dataset = must_open(spec, &skips);
    AUTO(text_freep) char *text = strays_text(&dataset->strays);
    CHECK(dataset->damaged == 1 && dataset->count > 2 && dataset->count < 11);
    CHECK(strstr(text, "rest of a shard: truncated: "));
    for (int64_t i = 0; i < dataset->count; i++) {
        AUTO(sample_release) struct sample sample = {0};
        CHECK_OK(dataset_read(dataset, i, &sample, &err), &err);
    }
}

static void test_ranges_in_braces(void) {
    static const struct {
        const char *path, *first, *last;
        int count;
    } rows[] = {
        {"v/a", NULL, NULL, 0},
        {"v/{0..2}.tar", "v/0.tar", "v/2.tar", 3},
        {"v/x-{098..101}-y.tar", "v/x-098-y.tar", "v/x-101-y.tar", 4},
        {"v/{7..7}", "v/7", "v/7", 1},
        {"v/{2..1}.tar", NULL, NULL, -1},
        {"v/{a..c}.tar", NULL, NULL, -1},
        {"v/{0..2", NULL, NULL, -1},
        {"v/0..2}", NULL, NULL, -1},
        {"v/{0..1}{0..1}", NULL, NULL, -1},
        {"v/{..5}", NULL, NULL, -1},
        {"v/{0..65536}", NULL, NULL, -1},
        {"v/{0..99999999999}", NULL, NULL, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        json_t *paths = json_array();
        int result = shards_expand(rows[i].path, paths, &err);
        CHECK_INT(result, rows[i].count > 0 ? 1 : rows[i].count);
        if (result == 1) {
            size_t count = json_array_size(paths);
            CHECK_INT(count, rows[i].count);
            CHECK_STR(json_string_value(json_array_get(paths, 0)), rows[i].first);
            CHECK_STR(json_string_value(json_array_get(paths, count - 1)), rows[i].last);
        }
        json_decref(paths);
    }
}

int main(void) {
    fixtures_start("webdataset");
    struct error err = {0};
    AUTO(text_freep) char *script = x_printf("%s/make.py", fixtures_out);
    CHECK_OK(file_write(script, make_shards, sizeof make_shards - 1, &err), &err);
    AUTO(text_freep) char *command = x_printf("/usr/bin/python3 %s %s", script, fixtures_out);
    CHECK_INT(system(command), 0);
    TEST(test_shards_are_read_in_every_form);
    TEST(test_what_is_left_out_is_told);
    TEST(test_arrays_are_samples);
    TEST(test_names_forge_no_lines_of_the_log);
    TEST(test_shards_of_a_folder_share_its_store);
    TEST(test_a_stop_ends_the_index);
    TEST(test_a_cut_shard_is_refused_or_its_rest_left_out);
    TEST(test_ranges_in_braces);
    return TEST_END();
}
