// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/container/container.h"

#include "agent/data/video/container/asf.h"

#include <string.h>

enum { ISO_BOXES_MAX = 1 << 20 }; /* a fragmented mp4 has about two boxes per second */

uint64_t container_number(const uint8_t *bytes, int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static enum container_state verdict(uint64_t end, int64_t size, int64_t *ret_missing) {
    if (end <= (uint64_t)size) {
        return CONTAINER_COMPLETE;
    }
    *ret_missing = (int64_t)(end - (uint64_t)size);
    return CONTAINER_CUT;
}

static bool is_box(const uint8_t *type, const char *names) {
    for (; *names; names += 4) {
        if (memcmp(type, names, 4) == 0) {
            return true;
        }
    }
    return false;
}

/* Walks from box to box. Only boxes that hold the video count: data after the last of them
 * (padding, another program's data) may be broken. */
static enum container_state check_iso(struct video_source *source, int64_t size,
                                      int64_t *ret_missing) {
    uint64_t at = 0;
    for (int boxes = 0; boxes < ISO_BOXES_MAX && at + 8 <= (uint64_t)size; boxes++) {
        uint8_t header[16];
        int64_t got = video_source_read(source, (int64_t)at, header, sizeof header);
        if (got < 8) {
            break;
        }
        uint64_t length = container_number(header, 4);
        if (length == 1 && got == 16) {
            length = container_number(header + 8, 8);
        }
        if (length == 0) {
            return CONTAINER_UNKNOWN; /* the box reaches to the end of the file, wherever that is */
        }
        if (length < 8 || length > INT64_MAX) {
            break;
        }
        if (is_box(header + 4, "mdatmoovmoof") && at + length > (uint64_t)size) {
            return verdict(at + length, size, ret_missing);
        }
        at += length;
    }
    return CONTAINER_COMPLETE;
}

/* Reads one EBML size; -1 when it is unknown (all ones) or malformed. */
static int64_t ebml_size(const uint8_t *bytes, int room, int *ret_length) {
    int length = 1;
    while (length <= 8 && !(bytes[0] & (0x80 >> (length - 1)))) {
        length++;
    }
    if (length > 8 || length > room) {
        return -1;
    }
    uint64_t mask = (1ULL << (7 * length)) - 1;
    uint64_t value = container_number(bytes, length) & mask;
    *ret_length = length;
    return value == mask ? -1 : (int64_t)value;
}

static enum container_state check_matroska(struct video_source *source, int64_t size,
                                           int64_t *ret_missing) {
    uint8_t bytes[16] = {0};
    int length = 0;
    if (video_source_read(source, 0, bytes, sizeof bytes) < 16) {
        return CONTAINER_UNKNOWN;
    }
    int64_t header = ebml_size(bytes + 4, 12, &length);
    int64_t segment = 4 + length + header;
    if (header < 0 || segment > size ||
        video_source_read(source, segment, bytes, sizeof bytes) < 12 ||
        memcmp(bytes, "\x18\x53\x80\x67", 4) != 0) {
        return CONTAINER_UNKNOWN;
    }
    int64_t body = ebml_size(bytes + 4, 8, &length);
    if (body < 0) {
        return CONTAINER_UNKNOWN;
    }
    return verdict((uint64_t)(segment + 4 + length) + (uint64_t)body, size, ret_missing);
}

/* WMV: the indexes behind its packets may be missing. */
static enum container_state check_asf(struct video_source *source, int64_t size,
                                      int64_t *ret_missing) {
    struct asf asf;
    return asf_read(source, &asf) && !asf.is_live && asf.end > (uint64_t)size
               ? verdict(asf.end, size, ret_missing)
               : CONTAINER_UNKNOWN;
}

enum container_state container_check(struct video_source *source, int64_t *ret_missing) {
    uint8_t head[16] = {0};
    int64_t size_bytes = video_source_size(source);
    if (video_source_read(source, 0, head, sizeof head) < 12) {
        return CONTAINER_UNKNOWN;
    }
    if (is_box(head + 4, "ftypmoovmdatfreeskipwide")) {
        return check_iso(source, size_bytes, ret_missing);
    }
    if (memcmp(head, "\x1A\x45\xDF\xA3", 4) == 0) {
        return check_matroska(source, size_bytes, ret_missing);
    }
    if (memcmp(head, "\x30\x26\xB2\x75\x8E\x66\xCF\x11", 8) == 0) {
        return check_asf(source, size_bytes, ret_missing);
    }
    if (memcmp(head, "RIFF", 4) == 0) {
        uint64_t body = asf_number(head + 4, 4);
        /* An AVI that is still being written, or longer than 4 GB, has 0 or an invalid length. */
        return body < 16 || body >= 0xFFFFFFF0 ? CONTAINER_UNKNOWN
                                               : verdict(body + 8, size_bytes, ret_missing);
    }
    return CONTAINER_UNKNOWN;
}
