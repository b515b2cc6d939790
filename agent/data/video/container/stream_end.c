// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/container/stream_end.h"

#include "agent/data/video/container/asf.h"
#include "agent/data/video/container/container.h"
#include "agent/data/video/container/nut_end.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAIL_BYTES = 192 << 10, /* three of Ogg's or MPEG's longest units */
    UNIT_NONE = 0,
    UNIT_CUT = -1,
};

/* A piece of the file, released by its owner. */
struct piece {
    uint8_t *bytes;
    size_t size;
};

static void piece_release(struct piece *piece) {
    free(TAKE(piece->bytes));
}

static struct piece read_piece(struct video_source *source, int64_t offset, int64_t size) {
    struct piece piece = {.bytes = x_malloc((size_t)size + 1)};
    while ((int64_t)piece.size < size) {
        int64_t got = video_source_read(source, offset + (int64_t)piece.size,
                                        piece.bytes + piece.size, (size_t)size - piece.size);
        if (got <= 0) {
            break;
        }
        piece.size += (size_t)got;
    }
    return piece;
}

static struct piece read_tail(struct video_source *source, int64_t size) {
    int64_t all = video_source_size(source), wanted = MIN(all, size);
    struct piece piece = read_piece(source, all - wanted, wanted);
    piece.size = (int64_t)piece.size == wanted ? piece.size : 0;
    return piece;
}

/* ---- units behind each other: Ogg, program streams ------------------------------------------- */

/* The length of the unit that begins here, UNIT_NONE or UNIT_CUT (it has begun, but its header has
 * no end). is_first: what was before is not known to be a unit. */
typedef int64_t unit_length(const uint8_t *bytes, size_t room, bool is_first);

/* Walks from unit to unit, and looks for the next one where there is none. *ret_last: the last
 * whole one; NULL: there is none. */
static bool ends_inside(const struct piece *tail, unit_length *length_of,
                        const uint8_t **ret_last) {
    bool is_first = true;
    *ret_last = NULL;
    for (size_t at = 0; at < tail->size;) {
        int64_t length = length_of(tail->bytes + at, tail->size - at, is_first);
        is_first = length == UNIT_NONE;
        if (length == UNIT_CUT || length > (int64_t)(tail->size - at)) {
            return true;
        }
        if (length > 0) {
            *ret_last = tail->bytes + at;
        }
        at += is_first ? 1 : (size_t)length;
    }
    return false;
}

/* Ogg: "OggS", version 0, flags, 20 bytes, the number of segments, a byte for the length of each.
 */
static int64_t ogg_length(const uint8_t *bytes, size_t room, bool is_first) {
    static const uint8_t capture[] = {'O', 'g', 'g', 'S', 0};
    enum { HEADER = 27 };
    if (memcmp(bytes, capture, MIN(room, sizeof capture)) != 0 ||
        (is_first && room < sizeof capture)) {
        return UNIT_NONE;
    }
    if (room < HEADER || room < (size_t)HEADER + bytes[HEADER - 1]) {
        return UNIT_CUT;
    }
    int64_t length = HEADER + bytes[HEADER - 1];
    for (int i = 0; i < bytes[HEADER - 1]; i++) {
        length += bytes[HEADER + i];
    }
    return length;
}

static const char *check_ogg(struct video_source *source) {
    enum { FLAGS_AT = 5, IS_LAST = 4 };
    AUTO(piece_release) struct piece tail = read_tail(source, TAIL_BYTES);
    const uint8_t *last = NULL;
    if (ends_inside(&tail, ogg_length, &last)) {
        return "in the middle of a page";
    }
    return last && !(last[FLAGS_AT] & IS_LAST) ? "without the page that marks its end" : NULL;
}

enum { PACK = 0xBA };

/* Program streams: a pack's header, or a packet that declares its length. Their bytes may be those
 * of a packet's content, so the first one must be a pack's, which is longer. */
static int64_t program_length(const uint8_t *bytes, size_t room, bool is_first) {
    enum { END = 0xB9, PACKETS_FROM = 0xBB, PACK_BYTES = 14, PACK_1_BYTES = 12 };
    if (memcmp(bytes, "\0\0\1", MIN(room, (size_t)3)) != 0) {
        return UNIT_NONE;
    }
    if (room < 4) {
        return is_first ? UNIT_NONE : UNIT_CUT;
    }
    if (is_first && bytes[3] != PACK) {
        return UNIT_NONE;
    }
    if (bytes[3] == PACK) {
        if (room < PACK_BYTES) {
            return UNIT_CUT;
        }
        return bytes[4] >> 6 == 1   ? PACK_BYTES + (bytes[13] & 7)
               : bytes[4] >> 4 == 2 ? PACK_1_BYTES
                                    : UNIT_NONE;
    }
    if (bytes[3] < PACKETS_FROM) {
        return bytes[3] == END ? 4 : UNIT_NONE;
    }
    return room < 6 ? UNIT_CUT : 6 + (int64_t)container_number(bytes + 4, 2);
}

static const char *check_program(struct video_source *source) {
    AUTO(piece_release) struct piece tail = read_tail(source, TAIL_BYTES);
    const uint8_t *last = NULL;
    if (ends_inside(&tail, program_length, &last)) {
        return "in the middle of a packet";
    }
    return last && last[3] == PACK ? "in the middle of a pack" : NULL;
}

/* ---- transport streams ----------------------------------------------------------------------- */

enum { TS_SYNC = 0x47, TS_LOOKS = 6, TS_LOOK_BYTES = (TS_LOOKS + 1) * 204 };

/* Bytes that are the same at this distance six times are packets, with nearly no exception.
 * *ret_from: where one begins. */
static bool find_packets(const struct piece *piece, size_t *ret_from, size_t *ret_step) {
    static const struct {
        size_t step, before;                    /* bytes before the sync byte of each */
    } kinds[] = {{188, 0}, {192, 4}, {204, 0}}; /* plain, of discs and cameras, with parity */
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t step = kinds[i].step;
        for (size_t from = 0; from < step && from + TS_LOOKS * step <= piece->size; from++) {
            size_t seen = 0;
            while (seen < TS_LOOKS &&
                   piece->bytes[from + seen * step + kinds[i].before] == TS_SYNC) {
                seen++;
            }
            if (seen == TS_LOOKS) {
                *ret_from = from;
                *ret_step = step;
                return true;
            }
        }
    }
    return false;
}

static const char *check_transport(struct video_source *source) {
    AUTO(piece_release) struct piece tail = read_tail(source, TS_LOOK_BYTES);
    size_t step = 0, from = 0;
    if (!find_packets(&tail, &from, &step)) {
        return NULL;
    }
    return (tail.size - from) % step != 0 ? "in the middle of a packet" : NULL;
}

/* ---- FLV ------------------------------------------------------------------------------------- */

enum { FLV_HEADER = 9, FLV_TAG = 11, FLV_BACK = 4, FLV_LOOKS = 16, FLV_SCRIPT = 18 };

struct flv_tag {
    int64_t at, size; /* with its header */
    int type;
    double seconds;
};

static bool flv_read(struct video_source *source, int64_t at, struct flv_tag *ret_tag) {
    uint8_t bytes[FLV_TAG];
    if (at < FLV_HEADER || video_source_read(source, at, bytes, sizeof bytes) != sizeof bytes) {
        return false;
    }
    uint64_t time = container_number(bytes + 4, 3) | (uint64_t)bytes[7] << 24;
    *ret_tag = (struct flv_tag){.at = at,
                                .size = FLV_TAG + (int64_t)container_number(bytes + 1, 3),
                                .type = bytes[0] & 0x1F,
                                .seconds = (double)time / 1000};
    return ret_tag->type == 8 || ret_tag->type == 9 || ret_tag->type == FLV_SCRIPT;
}

/* The tag that ends here, by the size behind it. */
static bool flv_read_back(struct video_source *source, int64_t end, struct flv_tag *ret_tag) {
    uint8_t bytes[FLV_BACK];
    if (end < FLV_HEADER + FLV_BACK ||
        video_source_read(source, end - FLV_BACK, bytes, sizeof bytes) != sizeof bytes) {
        return false;
    }
    int64_t size = (int64_t)container_number(bytes, FLV_BACK);
    return flv_read(source, end - FLV_BACK - size, ret_tag) && ret_tag->size == size;
}

/* "duration" of the first tag, as a number of AMF: 0 and a double. 0: it does not say. */
static double flv_declared(struct video_source *source, const struct flv_tag *first) {
    static const char name[] = "\0\10duration"; /* its NUL is the type of a number */
    AUTO(piece_release)
    struct piece script = read_piece(source, first->at, MIN(first->size, (int64_t)16 << 10));
    const uint8_t *found = memmem(script.bytes, script.size, name, sizeof name);
    double seconds = 0;
    if (first->type == FLV_SCRIPT && found &&
        (size_t)(script.bytes + script.size - found) >= sizeof name + sizeof seconds) {
        uint64_t bits = container_number(found + sizeof name, sizeof bits);
        memcpy(&seconds, &bits, sizeof seconds);
    }
    return seconds;
}

static const char *check_flv(struct video_source *source) {
    uint8_t head[FLV_HEADER];
    int64_t end = video_source_size(source);
    struct flv_tag first, last, one;
    if (video_source_read(source, 0, head, sizeof head) != sizeof head ||
        !flv_read(source, (int64_t)container_number(head + 5, 4) + FLV_BACK, &first)) {
        return NULL;
    }
    /* Not all programs write the sizes behind tags. */
    int64_t next = first.at + first.size + FLV_BACK;
    if (next > end || (flv_read_back(source, next, &one) && !flv_read_back(source, end, &last))) {
        return "in the middle of a tag";
    }
    if (!flv_read_back(source, end, &last)) {
        return NULL;
    }
    double step = 0;              /* the last picture may be shown for as long as others were */
    double latest = last.seconds; /* a script at the end may have no time */
    struct flv_tag later = last;
    for (int i = 0; i < FLV_LOOKS && flv_read_back(source, later.at, &one); i++) {
        step = MAX(step, later.seconds - one.seconds);
        latest = MAX(latest, one.seconds);
        later = one;
    }
    return flv_declared(source, &first) > latest + 1 + 2 * step
               ? "before the duration that its header declares"
               : NULL;
}

/* ---- NUT ------------------------------------------------------------------------------------- */

static enum nut_end look_at_tail(struct video_source *source, const struct piece *head,
                                 int64_t size) {
    AUTO(piece_release) struct piece tail = read_tail(source, size);
    return nut_end_find(head->bytes, head->size, tail.bytes, tail.size);
}

static const char *check_nut(struct video_source *source) {
    enum { HEAD_BYTES = 64 << 10, LONG_TAIL_BYTES = 32 << 20 }; /* longer than any raw picture */
    AUTO(piece_release) struct piece head = read_piece(source, 0, HEAD_BYTES);
    enum nut_end end = look_at_tail(source, &head, TAIL_BYTES);
    if (end == NUT_END_UNKNOWN) {
        end = look_at_tail(source, &head, LONG_TAIL_BYTES);
    }
    return end == NUT_END_CUT ? "in the middle of a packet" : NULL;
}

/* ---- Windows media, live --------------------------------------------------------------------- */

/* All its packets have the same size; behind them indexes may follow. */
static const char *check_windows(struct video_source *source) {
    enum { INDEX_PACKETS_MAX = 64 };
    struct asf asf;
    int64_t size = video_source_size(source);
    if (!asf_read(source, &asf) || !asf.is_live || asf.packet_bytes <= 0 || size < asf.packets_at) {
        return NULL;
    }
    int64_t packets = (size - asf.packets_at) / asf.packet_bytes;
    if (asf.packets_at + packets * asf.packet_bytes == size) {
        return NULL;
    }
    for (int i = 0; i < INDEX_PACKETS_MAX && i <= packets; i++) {
        if (asf_is_index(source, asf.packets_at + (packets - i) * asf.packet_bytes)) {
            return NULL;
        }
    }
    return "in the middle of a packet";
}

const char *stream_end_find(struct video_source *source, const char *format) {
    static const struct {
        const char *format;
        const char *(*check)(struct video_source *source);
    } checks[] = {{"mpegts", check_transport}, {"mpeg", check_program}, {"ogg", check_ogg},
                  {"flv", check_flv},          {"nut", check_nut},      {"asf", check_windows}};
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (strcmp(format, checks[i].format) == 0) {
            return checks[i].check(source);
        }
    }
    return NULL;
}
