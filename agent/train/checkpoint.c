// SPDX-License-Identifier: Apache-2.0
#include "agent/train/checkpoint.h"

#include "agent/store/checkpoint_name.h"
#include "lib/digest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CLAIM_TRIES = 100, CLAIM_BYTES_MAX = 4096, PIECE = 8 << 20 };

/* ---- names ---------------------------------------------------------------------------------- */

struct entry {
    int64_t generation, step; /* step: 0 for a claim */
    char *name;
};

struct listing {
    size_t prefix; /* bytes of the name before the numbers */
    bool has_steps;
    size_t count, room;
    struct entry *entries;
};

static void listing_release(struct listing *listing) {
    for (size_t i = 0; i < listing->count; i++) {
        free(listing->entries[i].name);
    }
    free(listing->entries);
    *listing = (struct listing){0};
}

static int add_entry(void *context, const char *name, const struct store_info *info UNUSED,
                     struct error *err UNUSED) {
    struct listing *listing = context;
    struct entry entry = {0};
    const char *at = name + listing->prefix;
    bool is_ours = listing->has_steps ? checkpoint_name_read(at, &entry.generation, &entry.step)
                                      : strlen(at) == CHECKPOINT_DIGITS &&
                                            checkpoint_name_number(at, &entry.generation);
    if (!is_ours) {
        return 0; /* not a name that a generation writes */
    }
    if (listing->count == listing->room) {
        listing->room = 2 * listing->room + 16;
        listing->entries =
            x_realloc_array(listing->entries, listing->room, sizeof *listing->entries);
    }
    entry.name = x_strdup(name);
    listing->entries[listing->count++] = entry;
    return 0;
}

/* Sorts by generation and step, the oldest first, which is the order of the names. */
static int list(const struct checkpoint_location *place, const char *folder, bool has_steps,
                struct listing *listing, struct error *err) {
    AUTO(text_freep) char *prefix = x_printf("%s%s/", place->prefix, folder);
    *listing = (struct listing){.prefix = strlen(prefix), .has_steps = has_steps};
    return store_list(place->store, prefix, NULL, add_entry, listing, err);
}

/* ---- claims --------------------------------------------------------------------------------- */

static int highest_claim(const struct checkpoint_location *place, int64_t *ret_generation,
                         struct error *err) {
    AUTO(listing_release) struct listing claims = {0};
    AUTO(listing_release) struct listing written = {0};
    if (list(place, "claim", false, &claims, err) < 0 ||
        list(place, CHECKPOINT_FOLDER, true, &written, err) < 0) {
        return -1;
    }
    *ret_generation = claims.count ? claims.entries[claims.count - 1].generation : 0;
    if (written.count) { /* its claim may have been removed */
        *ret_generation = MAX(*ret_generation, written.entries[written.count - 1].generation);
    }
    return 0;
}

/* 1: the claim is ours; 0: another process has it; -1: unknown. */
static int claim_one(const struct checkpoint_location *place, int64_t generation, const char *words,
                     struct error *err) {
    AUTO(text_freep) char *name = x_printf("%sclaim/%012" PRId64, place->prefix, generation);
    AUTO(buffer_release) struct buffer seen;
    struct error put = {0};
    buffer_init(&seen, CLAIM_BYTES_MAX);
    int result = store_put(place->store, name, words, strlen(words), STORE_CREATE, &put);
    if (result < 0 && put.kind != ERROR_CONFLICT) {
        *err = put;
        return -1;
    }
    /* Reads the claim also after success: without exclusive creation the last writer has it. And
     * after CONFLICT: a request is repeated if its answer was lost, and then finds its own
     * object. */
    if (store_get(place->store, name, &seen, NULL, err) < 0) {
        return -1;
    }
    return seen.size == strlen(words) && memcmp(seen.data, words, seen.size) == 0;
}

int checkpoint_claim(const struct checkpoint_location *place, const char *who,
                     int64_t *ret_generation, struct error *err) {
    int64_t generation;
    AUTO(text_freep) char *chance = digest_random(16);
    AUTO(text_freep) char *words = x_printf("%.1000s %s\n", who, chance);
    if (highest_claim(place, &generation, err) < 0) {
        return -1;
    }
    for (int i = 0; i < CLAIM_TRIES && generation < CHECKPOINT_NUMBER_MAX; i++) {
        int is_ours = claim_one(place, ++generation, words, err);
        if (is_ours < 0) {
            return -1;
        }
        if (is_ours) {
            *ret_generation = generation;
            return 0;
        }
    }
    return generation >= CHECKPOINT_NUMBER_MAX
               ? error_set(err, ERROR_EXHAUSTED, "%s/%sclaim: %lld is the last generation",
                           store_path(place->store), place->prefix,
                           (long long)CHECKPOINT_NUMBER_MAX)
               : error_set(err, ERROR_BUSY,
                           "%s/%sclaim: in %d tries other trainers claimed a generation first",
                           store_path(place->store), place->prefix, CLAIM_TRIES);
}

int checkpoint_is_newest(const struct checkpoint_location *place, int64_t generation,
                         bool *ret_is_newest, struct error *err) {
    int64_t highest;
    if (highest_claim(place, &highest, err) < 0) {
        return -1;
    }
    *ret_is_newest = highest <= generation;
    return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct writing {
    struct store_upload *upload;
    uint32_t crc;
    int64_t size;
    _Atomic int64_t *written;
};

static int add(struct writing *writing, const void *data, size_t size, struct error *err) {
    for (size_t at = 0; at < size; at += PIECE) {
        size_t piece = MIN(size - at, (size_t)PIECE);
        const char *from = (const char *)data + at;
        if (store_upload_add(writing->upload, from, piece, err) < 0) {
            return -1;
        }
        writing->crc = digest_crc32c(writing->crc, from, piece);
        writing->size += (int64_t)piece;
        if (writing->written) {
            atomic_fetch_add(writing->written, (int64_t)piece);
        }
    }
    return 0;
}

int checkpoint_write(const struct checkpoint_location *place, const struct checkpoint *checkpoint,
                     _Atomic int64_t *written, struct error *err) {
    static const char zeros[CHECKPOINT_ALIGNMENT];
    AUTO(text_freep)
    char *name = checkpoint_name(place->prefix, checkpoint->generation, checkpoint->step);
    AUTO(text_freep) char *head = NULL;
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    char tail[CHECKPOINT_TAIL_BYTES];
    size_t head_size;
    if (checkpoint_head(checkpoint, &head, &head_size, err) < 0 ||
        store_upload_open(place->store, name, &upload, err) < 0) {
        return -1;
    }
    struct writing writing = {.upload = upload, .written = written};
    if (add(&writing, head, head_size, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < checkpoint->count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        size_t bytes = (size_t)shape_count(&tensor->shape) * sizeof(float);
        if (add(&writing, tensor->data, bytes, err) < 0 ||
            add(&writing, zeros, checkpoint_padding(tensor), err) < 0) {
            return -1;
        }
    }
    checkpoint_tail(writing.crc, writing.size, tail);
    return add(&writing, tail, sizeof tail, err) < 0
               ? -1
               : store_upload_commit(upload, STORE_REPLACE, err);
}

int checkpoint_tidy(const struct checkpoint_location *place, int64_t generation, int keep,
                    struct error *err) {
    AUTO(listing_release) struct listing listing = {0};
    if (list(place, CHECKPOINT_FOLDER, true, &listing, err) < 0) {
        return -1;
    }
    size_t count = listing.count;
    while (count && listing.entries[count - 1].generation > generation) {
        count--;
    }
    for (size_t i = 0; i + (size_t)keep < count; i++) {
        if (store_remove(place->store, listing.entries[i].name, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* 1: *ret_loaded is set; 0: the checkpoint is not usable, *why says why; -1: an error of the
 * store. */
static int load_one(const struct checkpoint_location *place, const struct entry *entry,
                    const char *digest, struct checkpoint_loaded *ret_loaded, struct error *why,
                    struct error *err) {
    struct store_info info;
    size_t read = 0;
    struct error cause = {0};
    if (store_stat(place->store, entry->name, &info, &cause) < 0) {
        bool is_gone = cause.kind == ERROR_NOT_FOUND;
        *(is_gone ? why : err) = cause;
        return is_gone ? 0 : -1;
    }
    if (info.size_bytes > CHECKPOINT_BYTES_MAX || info.size_bytes < CHECKPOINT_TAIL_BYTES) {
        error_set(why, ERROR_INVALID, "%lld bytes are too few or too many for a checkpoint",
                  (long long)info.size_bytes);
        return 0;
    }
    size_t size = (size_t)info.size_bytes;
    AUTO(text_freep)
    char *bytes = aligned_alloc(CHECKPOINT_ALIGNMENT,
                                (size / CHECKPOINT_ALIGNMENT + 1) * CHECKPOINT_ALIGNMENT);
    if (!bytes) {
        return error_set(err, ERROR_EXHAUSTED, "no memory for a checkpoint of %zu bytes", size);
    }
    if (store_read(place->store, entry->name, &(struct store_piece){0, bytes, size, info.token},
                   &read, &cause) < 0) {
        bool is_other = cause.kind == ERROR_NOT_FOUND || cause.kind == ERROR_CONFLICT;
        *(is_other ? why : err) = cause;
        return is_other ? 0 : -1;
    }
    if (read != size) {
        error_set(why, ERROR_INVALID, "it has become shorter");
        return 0;
    }
    AUTO(checkpoint_release) struct checkpoint_loaded loaded = {0};
    if (checkpoint_parse(bytes, size, &loaded, why) < 0) {
        return 0;
    }
    TAKE(bytes);
    struct checkpoint *checkpoint = &loaded.checkpoint;
    if (checkpoint->generation != entry->generation || checkpoint->step != entry->step) {
        error_set(why, ERROR_INVALID, "its generation or step differs from its name");
        return 0;
    }
    if (strcmp(checkpoint->digest, digest) != 0) {
        error_set(why, ERROR_INVALID, "it belongs to another model, data or settings");
        return 0;
    }
    *ret_loaded = loaded;
    loaded = (struct checkpoint_loaded){0};
    return 1;
}

int checkpoint_load(const struct checkpoint_location *place, const struct checkpoint_wanted *wanted,
                    bool *ret_found, struct checkpoint_loaded *ret_loaded, struct error *err) {
    AUTO(listing_release) struct listing listing = {0};
    if (list(place, CHECKPOINT_FOLDER, true, &listing, err) < 0) {
        return -1;
    }
    for (size_t i = listing.count; i-- > 0;) {
        const struct entry *entry = &listing.entries[i];
        struct error why = {0};
        if (entry->generation >= wanted->generation) {
            continue;
        }
        int result = load_one(place, entry, wanted->digest, ret_loaded, &why, err);
        if (result < 0) {
            return -1;
        }
        if (result) {
            *ret_found = true;
            return 0;
        }
        if (wanted->skipped) {
            wanted->skipped(wanted->context, entry->name, why.text);
        }
    }
    *ret_found = false;
    return 0;
}
