// SPDX-License-Identifier: Apache-2.0
/* Both files as other programs read them: Python's csv, and a reader of TFRecord and of protocol
 * buffers' wire format in 40 lines of Python, with its own CRC-32C. */
#include "agent/train/record/metrics_log.h"
#include "lib/file.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const char reader[] =
    "import csv, struct, sys\n"
    "table = []\n"
    "for n in range(256):\n"
    "    for _ in range(8): n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)\n"
    "    table.append(n)\n"
    "def crc(data):\n"
    "    c = 0xFFFFFFFF\n"
    "    for b in data: c = c >> 8 ^ table[(c ^ b) & 255]\n"
    "    return c ^ 0xFFFFFFFF\n"
    "assert crc(b'123456789') == 0xE3069283\n"
    "def mask(c): return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF\n"
    "def records(data):\n"
    "    at = 0\n"
    "    while at < len(data):\n"
    "        size, size_crc = struct.unpack_from('<QI', data, at)\n"
    "        assert mask(crc(data[at:at + 8])) == size_crc\n"
    "        body = data[at + 12:at + 12 + size]\n"
    "        assert mask(crc(body)) == struct.unpack_from('<I', data, at + 12 + size)[0]\n"
    "        at += 16 + size\n"
    "        yield body\n"
    "def varint(data, at):\n"
    "    value = shift = 0\n"
    "    while True:\n"
    "        value |= (data[at] & 127) << shift; shift += 7; at += 1\n"
    "        if data[at - 1] < 128: return value, at\n"
    "def fields(data):\n"
    "    at = 0\n"
    "    while at < len(data):\n"
    "        key, at = varint(data, at)\n"
    "        kind = key & 7\n"
    "        if kind == 0: value, at = varint(data, at)\n"
    "        elif kind == 1: value = struct.unpack_from('<d', data, at)[0]; at += 8\n"
    "        elif kind == 5: value = struct.unpack_from('<f', data, at)[0]; at += 4\n"
    "        else:\n"
    "            size, at = varint(data, at)\n"
    "            value = data[at:at + size]; at += size\n"
    "        yield key >> 3, value\n"
    "folder = sys.argv[1] + '/'\n"
    "for i, record in enumerate(records(open(folder + 'events.out.tfevents.0.windlass',\n"
    "                                        'rb').read())):\n"
    "    event = dict(fields(record))\n"
    "    if i == 0:\n"
    "        assert event[3] == b'brain.Event:2'\n"
    "        continue\n"
    "    for number, value in fields(event[5]):\n"
    "        value = dict(fields(value))\n"
    "        print('event', event[2], '%.3f' % event[1], value[1].decode(), '%.6g' % value[2])\n"
    "for row in csv.DictReader(open(folder + 'metrics.csv')):\n"
    "    for name, value in row.items():\n"
    "        if value and name not in ('step', 'epoch', 'time'):\n"
    "            print('csv', row['step'], row['time'], name, '%.6g' % float(value))\n";

static char *volume;

/* The values that Python reads, sorted so that lines of both files are adjacent. */
static char *read_both(void) {
    struct error err = {0};
    char *text = NULL;
    size_t size;
    AUTO(text_freep) char *script = x_printf("%s/reader.py", volume);
    AUTO(text_freep) char *said = x_printf("%s/said", volume);
    AUTO(text_freep)
    char *command = x_printf("/usr/bin/python3 %s %s/out > %s", script, volume, said);
    CHECK_OK(file_write(script, reader, strlen(reader), &err), &err);
    CHECK_INT(system(command), 0);
    CHECK_OK(file_read(said, 1 << 20, &text, &size, &err), &err);
    return text;
}

static struct metrics_row make_row(int64_t step, double loss, double test_accuracy) {
    struct metrics_row row = {.step = step, .epoch = (double)step / 10};
    row.wall_ms = 1763726400123 + step * 1000;
    for (int i = 0; i < METRIC_COUNT; i++) {
        row.values[i] = NAN;
    }
    row.values[METRIC_LOSS] = loss;
    row.values[METRIC_TEST_ACCURACY] = test_accuracy;
    return row;
}

static struct store *open_out(void) {
    struct error err = {0};
    struct store *store = NULL;
    CHECK_OK(store_open("volume/out", true, &store, &err), &err);
    return store;
}

static void test_others_read_both(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_out();
    AUTO(metrics_log_freep) struct metrics_log *metrics = NULL;
    CHECK_OK(metrics_log_open(store, 0, &metrics, &err), &err);
    struct metrics_row rows[] = {make_row(10, 2.25, NAN), make_row(20, 1e-7, 0.8125),
                                 make_row(300, NAN, NAN), make_row(4000000000, 0.5, 1)};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        metrics_log_add(metrics, &rows[i]);
        CHECK_OK(metrics_log_write(metrics, &err), &err);
        CHECK_OK(metrics_log_write(metrics, &err), &err);
    }
    AUTO(text_freep) char *said = read_both();
    CHECK_STR(said, "event 10 1763726410.123 loss 2.25\n"
                    "event 20 1763726420.123 loss 1e-07\n"
                    "event 20 1763726420.123 test_accuracy 0.8125\n"
                    "event 4000000000 5763726400.123 loss 0.5\n"
                    "event 4000000000 5763726400.123 test_accuracy 1\n"
                    "csv 10 1763726410.123 loss 2.25\n"
                    "csv 20 1763726420.123 loss 1e-07\n"
                    "csv 20 1763726420.123 test_accuracy 0.8125\n"
                    "csv 4000000000 5763726400.123 loss 0.5\n"
                    "csv 4000000000 5763726400.123 test_accuracy 1\n");
}

static void test_a_resumed_training_goes_on_where_it_began(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_out();
    AUTO(metrics_log_freep) struct metrics_log *metrics = NULL;
    CHECK_OK(metrics_log_open(store, 299, &metrics, &err), &err); /* removes 300 and all later */
    struct metrics_row row = make_row(310, 0.25, NAN);
    metrics_log_add(metrics, &row);
    CHECK_OK(metrics_log_write(metrics, &err), &err);
    AUTO(text_freep) char *said = read_both();
    CHECK_STR(said, "event 10 1763726410.123 loss 2.25\n"
                    "event 20 1763726420.123 loss 1e-07\n"
                    "event 20 1763726420.123 test_accuracy 0.8125\n"
                    "event 310 1763726710.123 loss 0.25\n"
                    "csv 10 1763726410.123 loss 2.25\n"
                    "csv 20 1763726420.123 loss 1e-07\n"
                    "csv 20 1763726420.123 test_accuracy 0.8125\n"
                    "csv 310 1763726710.123 loss 0.25\n");
}

static void test_what_is_not_ours_is_replaced(void) {
    static const char *const texts[] = {"a,b\n1,2\n", "", "step,epoch,time\n1,2,3\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        AUTO(store_freep) struct store *store = open_out();
        AUTO(metrics_log_freep) struct metrics_log *metrics = NULL;
        CHECK_OK(store_put(store, METRICS_CSV, texts[i], strlen(texts[i]), STORE_REPLACE, &err),
                 &err);
        CHECK_OK(metrics_log_open(store, 1000, &metrics, &err), &err);
        CHECK_OK(metrics_log_write(metrics, &err), &err);
        AUTO(text_freep) char *said = read_both();
        CHECK_STR(said, "");
    }
}

int main(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-metrics-XXXXXX";
    volume = mkdtemp(folder);
    setenv("volume", volume, 1);
    TEST(test_others_read_both);
    TEST(test_a_resumed_training_goes_on_where_it_began);
    TEST(test_what_is_not_ours_is_replaced);
    CHECK_OK(file_remove_tree(volume, &err), &err);
    return TEST_END();
}
