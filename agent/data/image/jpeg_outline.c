// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/jpeg_outline.h"

#include <string.h>

enum {
    MARK_DHT = 0xC4,
    MARK_RST0 = 0xD0,
    MARK_RST7 = 0xD7,
    MARK_EOI = 0xD9,
    MARK_SOS = 0xDA,
    MARK_DQT = 0xDB,
    MARK_DRI = 0xDD,
    MARK_APP0 = 0xE0,
    MARK_APP14 = 0xEE,
    MARK_APP15 = 0xEF,
    MARK_COM = 0xFE,
    PROGRESSIVE = 0xC2,
    SCANS_MAX = 100, /* of a progressive picture: the processor's decoder has its own limit */
};

struct walk {
    const uint8_t *bytes;
    size_t size, at;
    struct jpeg_outline seen;
    int frame; /* marker of the frame; 0: none yet */
    int scans; /* scans so far ... */
    int parts; /* ... and the components in them */
    bool is_rgb;
};

static bool read_frame(struct walk *walk, int marker, const uint8_t *body, size_t length) {
    if (walk->frame || length < 6 || body[0] != 8) {
        return false;
    }
    struct jpeg_outline *seen = &walk->seen;
    seen->height = body[1] << 8 | body[2];
    seen->width = body[3] << 8 | body[4];
    seen->components = body[5];
    if (seen->height < 1 || seen->width < 1 || length < 6 + 3 * (size_t)seen->components) {
        return false;
    }
    walk->frame = marker;
    if (seen->components == 1) {
        return true;
    }
    const uint8_t *luma = body + 6, *blue = body + 9, *red = body + 12;
    if (seen->components != 3 || blue[1] != red[1] || (luma[1] >> 4) < (blue[1] >> 4) ||
        (luma[1] & 15) < (blue[1] & 15)) {
        return false;
    }
    seen->is_subsampled = luma[1] != blue[1];
    walk->is_rgb = walk->is_rgb || (luma[0] == 'R' && blue[0] == 'G' && red[0] == 'B');
    return true;
}

/* Called after a scan's header: skips to the marker that ends the scan's data. */
static bool skip_scan(struct walk *walk) {
    for (;;) {
        const uint8_t *found = memchr(walk->bytes + walk->at, 0xFF, walk->size - walk->at);
        if (!found || (size_t)(found - walk->bytes) + 1 >= walk->size) {
            return false;
        }
        walk->at = (size_t)(found - walk->bytes);
        int next = found[1];
        if (next != 0 && next != 0xFF && (next < MARK_RST0 || next > MARK_RST7)) {
            return true;
        }
        walk->at += next == 0xFF ? 1 : 2;
    }
}

static bool read_segment(struct walk *walk, int marker, const uint8_t *body, size_t length) {
    if (marker >= 0xC0 && marker <= PROGRESSIVE) {
        return read_frame(walk, marker, body, length);
    }
    if (marker == MARK_APP14 && length >= 12 && memcmp(body, "Adobe", 5) == 0) {
        walk->is_rgb = walk->is_rgb || body[11] == 0; /* not converted to YCbCr */
        return true;
    }
    if (marker == MARK_SOS) {
        walk->parts += length > 0 ? body[0] : 0;
        return walk->frame && ++walk->scans <= SCANS_MAX && skip_scan(walk);
    }
    /* Excluded: lossless and arithmetic frames, DNL, which has the height after the data, and
     * reserved markers. */
    return marker == MARK_DHT || marker == MARK_DQT || marker == MARK_DRI ||
           (marker >= MARK_APP0 && marker <= MARK_APP15) || marker == MARK_COM;
}

static bool is_sound(const struct walk *walk) {
    bool is_whole =
        walk->frame == PROGRESSIVE ? walk->scans > 0 : walk->parts == walk->seen.components;
    return walk->frame && is_whole && !(walk->is_rgb && walk->seen.components == 3);
}

bool jpeg_outline_read(const void *jpeg, size_t size, struct jpeg_outline *ret) {
    struct walk walk = {.bytes = jpeg, .size = size, .at = 2};
    if (size < 4 || memcmp(jpeg, "\xFF\xD8", 2) != 0) {
        return false;
    }
    for (;;) {
        if (walk.at + 2 > size || walk.bytes[walk.at] != 0xFF) {
            return false;
        }
        int marker = walk.bytes[walk.at + 1];
        if (marker == 0xFF) { /* padding */
            walk.at++;
            continue;
        }
        if (marker == MARK_EOI) {
            break;
        }
        if (walk.at + 4 > size) {
            return false;
        }
        const uint8_t *from = walk.bytes + walk.at + 2;
        size_t length = (size_t)from[0] << 8 | from[1];
        if (length < 2 || length > size - walk.at - 2) {
            return false;
        }
        walk.at += 2 + length;
        if (!read_segment(&walk, marker, from + 2, length - 2)) {
            return false;
        }
    }
    if (!is_sound(&walk)) {
        return false;
    }
    *ret = walk.seen;
    return true;
}
