// SPDX-License-Identifier: Apache-2.0
#include "agent/train/record/events.h"

#include "lib/digest.h"

#include <assert.h>
#include <string.h>

enum { TAG_MAX = 256, RECORD_MAX = EVENTS_VALUES_MAX * (TAG_MAX + 32) + 64 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct record {
    size_t size;
    uint8_t bytes[RECORD_MAX];
};

static void put(struct record *record, const void *data, size_t size) {
    assert(size <= sizeof record->bytes - record->size);
    memcpy(record->bytes + record->size, data, size);
    record->size += size;
}

static void put_varint(struct record *record, uint64_t value) {
    for (; value > 0x7F; value >>= 7) {
        put(record, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
    }
    put(record, &(uint8_t){(uint8_t)value}, 1);
}

static void put_key(struct record *record, uint32_t number, uint32_t type) {
    put_varint(record, number << 3 | type);
}

static void put_bytes(struct record *record, uint32_t number, const void *data, size_t size) {
    put_key(record, number, BYTES);
    put_varint(record, size);
    put(record, data, size);
}

static void put_time(struct record *record, int64_t wall_ms) {
    double seconds = (double)wall_ms / 1000;
    put_key(record, 1, FIXED64);
    put(record, &seconds, sizeof seconds);
}

/* TFRecord's mask, because the CRC of data that contains CRCs would be weak. */
static uint32_t masked(const void *data, size_t size) {
    uint32_t crc = digest_crc32c(0, data, size);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

static int frame(struct buffer *buffer, const struct record *record, struct error *err) {
    uint64_t size = record->size;
    uint32_t size_crc = masked(&size, sizeof size), crc = masked(record->bytes, record->size);
    return buffer_append(buffer, &size, sizeof size, err) < 0 ||
                   buffer_append(buffer, &size_crc, sizeof size_crc, err) < 0 ||
                   buffer_append(buffer, record->bytes, record->size, err) < 0 ||
                   buffer_append(buffer, &crc, sizeof crc, err) < 0
               ? -1
               : 0;
}

int events_begin(struct buffer *buffer, int64_t wall_ms, struct error *err) {
    static const char version[] = "brain.Event:2";
    struct record record = {0};
    put_time(&record, wall_ms);
    put_bytes(&record, 3, version, strlen(version));
    return frame(buffer, &record, err);
}

int events_add(struct buffer *buffer, int64_t wall_ms, int64_t step,
               const struct events_value *values, size_t count, struct error *err) {
    assert(count >= 1 && count <= EVENTS_VALUES_MAX);
    struct record record = {0}, summary = {0};
    for (size_t i = 0; i < count; i++) {
        struct record value = {0};
        assert(strlen(values[i].tag) <= TAG_MAX);
        put_bytes(&value, 1, values[i].tag, strlen(values[i].tag));
        put_key(&value, 2, FIXED32);
        put(&value, &values[i].value, sizeof(float));
        put_bytes(&summary, 1, value.bytes, value.size);
    }
    put_time(&record, wall_ms);
    put_key(&record, 2, VARINT);
    put_varint(&record, (uint64_t)step);
    put_bytes(&record, 5, summary.bytes, summary.size);
    return frame(buffer, &record, err);
}
