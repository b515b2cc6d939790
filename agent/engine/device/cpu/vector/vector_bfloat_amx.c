// SPDX-License-Identifier: Apache-2.0
/* The loops of vector_bfloat.h in AMX: tiles 0 to 3 are sums of two tiles of rows and two blocks of
 * columns, 4 and 5 weights, 6 and 7 rows. */
#ifdef __x86_64__
#include "agent/engine/device/cpu/vector/vector_bfloat.inc"

enum { TILE_BYTES = 64, ROOM_ROW = 2 * BLOCK };

struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};

static const struct tile_config whole_tiles = {
    .palette = 1,
    .bytes = {TILE_BYTES, TILE_BYTES, TILE_BYTES, TILE_BYTES, TILE_BYTES, TILE_BYTES, TILE_BYTES,
              TILE_BYTES},
    .rows = {BFLOAT_ROWS, BFLOAT_ROWS, BFLOAT_ROWS, BFLOAT_ROWS, BFLOAT_ROWS, BFLOAT_ROWS,
             BFLOAT_ROWS, BFLOAT_ROWS},
};

// Two tiles of rows, `next` values apart, or one; and one or two blocks of columns.
struct tiles {
    const uint16_t *a, *weights;
    size_t next;
    int steps;
    // What is prefetched while they are multiplied: a portion in each step.
    const uint16_t *ahead;
    size_t left, portion;
};

// Sums to room [32 or 16][32].
static INLINE void multiply_tiles(struct tiles *tiles, const bool two_rows, const bool two_blocks,
                                  float *room) {
    const int wide = two_blocks ? 2 * BFLOAT_TILE : BFLOAT_TILE;
    const uint16_t *a = tiles->a, *w = tiles->weights;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int s = 0; s < tiles->steps; s++, a += BFLOAT_TILE, w += wide) {
        if (tiles->left) {
            fetch(&tiles->ahead, &tiles->left, tiles->portion);
        }
        _tile_loadd(4, w, TILE_BYTES);
        _tile_loadd(6, a, TILE_BYTES);
        _tile_dpbf16ps(0, 6, 4);
        if (two_blocks) {
            _tile_loadd(5, w + BFLOAT_TILE, TILE_BYTES);
            _tile_dpbf16ps(1, 6, 5);
        }
        if (two_rows) {
            _tile_loadd(7, a + tiles->next, TILE_BYTES);
            _tile_dpbf16ps(2, 7, 4);
        }
        if (two_rows && two_blocks) {
            _tile_dpbf16ps(3, 7, 5);
        }
    }
    const int row = ROOM_ROW * (int)sizeof *room;
    _tile_stored(0, room, row);
    if (two_blocks) {
        _tile_stored(1, room + BLOCK, row);
    }
    if (two_rows) {
        _tile_stored(2, room + BFLOAT_ROWS * ROOM_ROW, row);
    }
    if (two_rows && two_blocks) {
        _tile_stored(3, room + BFLOAT_ROWS * ROOM_ROW + BLOCK, row);
    }
    // The compiler does not know that tiles are written to memory.
    __asm__ volatile("" ::: "memory");
}

static INLINE void finish_tiles(const struct bfloat_job *job, int first, int rows,
                                const bool two_blocks, const float *room) {
    const struct finish left = finish_of(job, 0);
    const struct finish right = two_blocks ? finish_of(job, 1) : left;
    for (int i = 0; i < rows; i++, room += ROOM_ROW) {
        ptrdiff_t place = place_of(job, first + i);
        finish_row(&left, place, _mm512_load_ps(room));
        if (two_blocks) {
            finish_row(&right, place, _mm512_load_ps(room + BLOCK));
        }
    }
}

static INLINE void multiply_all(const struct bfloat_job *job, const bool two_blocks) {
    float room[2 * BFLOAT_ROWS * ROOM_ROW] __attribute__((aligned(64)));
    size_t pairs = (size_t)(job->rows + 2 * BFLOAT_ROWS - 1) / (2 * BFLOAT_ROWS);
    size_t portion = job->ahead_count / (pairs * (size_t)job->steps) / BFLOAT_STEP + 1;
    struct tiles tiles = {.weights = job->weights,
                          .next = (size_t)job->steps * BFLOAT_TILE,
                          .steps = job->steps,
                          .ahead = job->ahead,
                          .left = job->ahead_count,
                          .portion = portion * BFLOAT_STEP};
    for (int first = 0; first < job->rows; first += 2 * BFLOAT_ROWS) {
        int rows = MIN(job->rows - first, 2 * BFLOAT_ROWS);
        tiles.a = job->a + (size_t)(first / BFLOAT_ROWS) * tiles.next;
        if (rows > BFLOAT_ROWS) {
            multiply_tiles(&tiles, true, two_blocks, room);
        } else {
            multiply_tiles(&tiles, false, two_blocks, room);
        }
        finish_tiles(job, first, rows, two_blocks, room);
    }
}

static void multiply(const struct bfloat_job *job) {
    __asm__ volatile("" ::: "memory"); // operands are written before tiles read them
    _tile_loadconfig(&whole_tiles);
    if (job->columns > BLOCK) {
        multiply_all(job, true);
    } else {
        multiply_all(job, false);
    }
    _tile_release(); // else each switch of threads saves the tiles
}

const struct bfloat_ops vector_bfloat_amx = {
    .name = "amx", .is_far_ahead = true, .gather = gather, .pack = pack, .multiply = multiply};
#endif
