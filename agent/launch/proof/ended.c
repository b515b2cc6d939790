// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/proof/ended.h"

#include "agent/launch/proof/gang_proof.h"
#include "lib/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1, TRY_MS = 15000, NAMES_MAX = 16 /* of an attempt */ };

/* So that no other use of the token can give the same code. */
#define PURPOSE "windlass ended 1\n"

void ended_free(struct ended *ended) {
    if (ended) {
        json_decref(ended->end);
        free(ended);
    }
}

void ended_freep(struct ended **ended) {
    ended_free(TAKE(*ended));
}

/* ---- its text ------------------------------------------------------------------------------- */

static char *code_of(const struct ended_place *place, const json_t *record) {
    AUTO(text_freep) char *canonical = tree_canonical(record);
    AUTO(text_freep) char *text = x_printf("%s%s", PURPOSE, canonical);
    unsigned char mac[32];
    char hex[2 * sizeof mac + 1];
    digest_hmac_sha256(place->token, strlen(place->token), text, strlen(text), mac);
    for (size_t i = 0; i < sizeof mac; i++) {
        snprintf(hex + 2 * i, 3, "%02x", mac[i]);
    }
    return x_strdup(hex);
}

char *ended_write(const struct ended_place *place, int64_t attempt, const struct ended *ended) {
    AUTO(tree_freep)
    json_t *record = json_pack("{s:i, s:s, s:I}", "windlass", FORMAT, "uid", place->uid, "attempt",
                               (json_int_t)attempt);
    if (ended) {
        json_object_set(record, "ended", ended->end);
    }
    AUTO(text_freep) char *mac = code_of(place, record);
    json_object_set_new(record, "mac", json_string(mac));
    AUTO(text_freep) char *line = tree_canonical(record);
    return x_printf("%s\n", line);
}

static int read_ended(json_t *tree, int64_t attempt, struct ended **ret_ended, struct error *err) {
    const json_t *proof = json_object_get(tree, "proof");
    int64_t round = tree_integer(proof, "round", 0);
    if (strlen(tree_text(tree, "completed", "")) != 20 || round <= 0 ||
        round >> GANG_ROUND_BITS != attempt || tree_integer(proof, "count", 0) < 1 ||
        !json_is_array(json_object_get(proof, "exits")) ||
        gang_proof_by_named(tree_text(proof, "by", "")) < 0) {
        return error_set(
            err, ERROR_INVALID,
            "ended: expected completed, a time, and proof, with round, count, exits and by");
    }
    *ret_ended = x_calloc(1, sizeof **ret_ended);
    (*ret_ended)->attempt = attempt;
    (*ret_ended)->end = json_incref(tree);
    return 0;
}

int ended_read(const struct ended_place *place, int64_t attempt, const char *text, size_t size,
               struct ended **ret_ended, struct error *err) {
    AUTO(tree_freep) json_t *record = NULL;
    if (tree_parse(text, size, ENDED_BYTES_MAX, &record, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *mac = x_strdup(tree_text(record, "mac", ""));
    json_object_del(record, "mac");
    AUTO(text_freep) char *expected = code_of(place, record);
    if (!digest_equal(mac, expected)) {
        return error_set(err, ERROR_INVALID, "it was not made with the job's token");
    }
    if (tree_integer(record, "windlass", 0) != FORMAT ||
        strcmp(tree_text(record, "uid", ""), place->uid) != 0 ||
        tree_integer(record, "attempt", 0) != attempt) {
        return error_set(err, ERROR_INVALID, "another format, job or attempt");
    }
    json_t *ended = json_object_get(record, "ended");
    *ret_ended = NULL;
    return ended ? read_ended(ended, attempt, ret_ended, err) : 0;
}

/* ---- in the store --------------------------------------------------------------------------- */

static char *folder_of(const struct ended_place *place) {
    return x_printf(".windlass/%.63s/ended/", place->run);
}

/* number: of records before it that do not count. They stay: who removes or replaces one may hit
 * the record that another hub has put there meanwhile. */
static char *name_of(const struct ended_place *place, int64_t attempt, int number) {
    AUTO(text_freep) char *folder = folder_of(place);
    return number == 0 ? x_printf("%s%06" PRId64, folder, attempt)
                       : x_printf("%s%06" PRId64 ".%d", folder, attempt, number);
}

/* What an attempt has: a record that counts, or nothing, and under which name. */
struct slot {
    bool is_decided;
    struct ended *ended; /* owned; NULL: closed */
    int number;
    enum store_put_mode how; /* what `put` does there: create, or replace the record that counts */
};

/* INVALID: what is there does not count. */
static int read_slot(const struct ended_place *place, struct store *store, int64_t attempt,
                     struct slot *slot, struct error *err) {
    AUTO(text_freep) char *name = name_of(place, attempt, slot->number);
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, ENDED_BYTES_MAX);
    return store_get(store, name, &text, NULL, err) < 0
               ? -1
               : ended_read(place, attempt, text.data ? text.data : "", text.size, &slot->ended,
                            err);
}

static int find_slot(const struct ended_place *place, struct store *store, int64_t attempt,
                     struct slot *ret_slot, struct error *err) {
    *ret_slot = (struct slot){0};
    for (; ret_slot->number < NAMES_MAX; ret_slot->number++) {
        struct error why = {0};
        ret_slot->is_decided = read_slot(place, store, attempt, ret_slot, &why) == 0;
        if (ret_slot->is_decided || why.kind == ERROR_NOT_FOUND) {
            ret_slot->how = ret_slot->is_decided ? STORE_REPLACE : STORE_CREATE;
            return 0;
        }
        if (why.kind != ERROR_INVALID) {
            *err = why;
            return -1;
        }
    }
    AUTO(text_freep) char *name = name_of(place, attempt, 0);
    return error_set(err, ERROR_INVALID,
                     "%s/%s and %d more: damaged, or not of this job; remove them",
                     store_path(store), name, NAMES_MAX - 1);
}

static int open_place(const struct ended_place *place, struct store **ret_store,
                      struct error *err) {
    return store_probe_path(place->path, TRY_MS, err) < 0
               ? -1
               : store_open(place->path, /* writes= */ true, ret_store, err);
}

static int put(const struct ended_place *place, struct store *store, int64_t attempt,
               const struct ended *ended, const struct slot *slot, struct error *err) {
    AUTO(text_freep) char *name = name_of(place, attempt, slot->number);
    AUTO(text_freep) char *text = ended_write(place, attempt, ended);
    return strlen(text) > ENDED_BYTES_MAX
               ? error_set(err, ERROR_INVALID, "%s/%s: more than %d bytes", store_path(store), name,
                           ENDED_BYTES_MAX)
               : store_put(store, name, text, strlen(text), slot->how, err);
}

/* The attempt gets this record, unless *ret_slot is decided: then that counts. */
static int decide(const struct ended_place *place, struct store *store, int64_t attempt,
                  const struct ended *ended, struct slot *ret_slot, struct error *err) {
    int result = -1;
    *ret_slot = (struct slot){.how = STORE_CREATE};
    for (int tries = 0; result < 0 && tries < NAMES_MAX; tries++) {
        struct error why = {0};
        result = put(place, store, attempt, ended, ret_slot, &why);
        if (result < 0 && why.kind != ERROR_CONFLICT) {
            *err = why;
            return -1;
        }
        if (result < 0 && find_slot(place, store, attempt, ret_slot, err) < 0) {
            return -1;
        }
        if (ret_slot->is_decided) {
            return 0;
        }
    }
    return result < 0 ? error_set(err, ERROR_UNAVAILABLE,
                                  "%s: its record of the end appears and disappears", place->path)
                      : 0;
}

int ended_put(const struct ended_place *place, const struct ended *ended, struct error *err) {
    AUTO(store_freep) struct store *store = NULL;
    struct slot slot;
    if (open_place(place, &store, err) < 0 ||
        decide(place, store, place->attempt, ended, &slot, err) < 0) {
        return -1;
    }
    bool is_ours = !slot.is_decided || slot.ended; /* the answer was lost */
    ended_free(slot.ended);
    return is_ours ? 0
                   : error_set(err, ERROR_CONFLICT,
                               "%s: another pod has taken over, and starts the gang again",
                               place->path);
}

int ended_withdraw(const struct ended_place *place, int64_t attempt, struct error *err) {
    AUTO(store_freep) struct store *store = NULL;
    struct slot slot;
    if (open_place(place, &store, err) < 0 || find_slot(place, store, attempt, &slot, err) < 0) {
        return -1;
    }
    ended_free(slot.ended);
    AUTO(text_freep) char *name = name_of(place, attempt, slot.number);
    return attempt == place->attempt ? store_remove(store, name, err)
                                     : put(place, store, attempt, NULL, &slot, err);
}

/* The newest attempt that is decided; lowest - 1: none. */
static int find_newest(const struct ended_place *place, struct store *store, int64_t lowest,
                       int64_t *ret_attempt, struct slot *ret_slot, struct error *err) {
    int64_t attempt = place->attempt;
    *ret_slot = (struct slot){0};
    while (!ret_slot->is_decided && --attempt >= lowest) {
        if (find_slot(place, store, attempt, ret_slot, err) < 0) {
            return -1;
        }
    }
    *ret_attempt = attempt;
    return 0;
}

int ended_find(const struct ended_place *place, struct ended **ret_ended, struct error *err) {
    AUTO(store_freep) struct store *store = NULL;
    AUTO(text_freep) char *folder = folder_of(place);
    int64_t lowest = MAX(place->attempt - ENDED_ATTEMPTS_MAX, (int64_t)1), newest = 0;
    struct slot slot;
    *ret_ended = NULL;
    if (open_place(place, &store, err) < 0) {
        return -1;
    }
    if (place->attempt <= 1) {
        return store_clear(store, folder, err);
    }
    if (find_newest(place, store, lowest, &newest, &slot, err) < 0) {
        return -1;
    }
    /* From below: who dies here leaves no open attempt below a closed one. */
    for (int64_t attempt = newest + 1; !slot.ended && attempt < place->attempt; attempt++) {
        if (decide(place, store, attempt, NULL, &slot, err) < 0) {
            return -1;
        }
    }
    *ret_ended = slot.ended;
    return 0;
}
