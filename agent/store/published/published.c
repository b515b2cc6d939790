// SPDX-License-Identifier: Apache-2.0
#include "agent/store/published/published.h"

#include "agent/store/published/oci.h"
#include "agent/store/published/published_cache.h"
#include "lib/digest.h"
#include "lib/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FRAGMENT "#sha256="
enum { TRIES = 5, BACK_OFF_MS = 50 };

bool published_is(const char *path) {
    return text_starts(path, "https://") || text_starts(path, "oci://");
}

static bool is_hex(const char *text) {
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

/* ---- pins ----------------------------------------------------------------------------------- */

static int pin_https(const char *path, const char *sha256, char **ret_pinned, struct error *err) {
    if (!sha256 || !is_hex(sha256)) {
        return error_set(err, ERROR_INVALID,
                         "%.300s: needs sha256 beside it, the file's SHA-256 in 64 small "
                         "hexadecimal digits",
                         path);
    }
    if (strpbrk(path, "#?@")) {
        return error_set(err, ERROR_INVALID, "%.300s: has a ?, # or @", path);
    }
    *ret_pinned = x_printf("%s" FRAGMENT "%s", path, sha256);
    return 0;
}

static int pin_oci(const char *path, const char *sha256, char **ret_pinned, struct error *err) {
    AUTO(oci_place_release) struct oci_place place = {0};
    AUTO(published_client_freep) struct published_client *client = NULL;
    char digest[72];
    if (!oci_place_read(path, &place)) {
        return error_set(err, ERROR_INVALID,
                         "%.300s: expected oci://REGISTRY/NAME:TAG or "
                         "oci://REGISTRY/NAME@sha256:HEX, and /FILE behind it or not",
                         path);
    }
    if (sha256) {
        return error_set(err, ERROR_INVALID,
                         "%.300s: sha256 is for https://; write @sha256:HEX, the manifest's digest",
                         path);
    }
    if (oci_is_digest(place.reference)) {
        *ret_pinned = x_strdup(path);
        return 0;
    }
    if (published_client_open(&client, err) < 0 || oci_resolve(client, &place, digest, err) < 0) {
        return error_context(err, "%.300s", path);
    }
    *ret_pinned = x_printf("oci://%s/%s@%s%s%s", place.registry, place.name, digest,
                           place.file ? "/" : "", place.file ? place.file : "");
    return 0;
}

int published_pin(const char *path, const char *sha256, char **ret_pinned, struct error *err) {
    return text_starts(path, "https://") ? pin_https(path, sha256, ret_pinned, err)
                                         : pin_oci(path, sha256, ret_pinned, err);
}

char *published_name(const char *path) {
    AUTO(oci_place_release) struct oci_place place = {0};
    AUTO(text_freep) char *plain = x_strndup(path, strcspn(path, "?#"));
    bool is_oci = oci_place_read(path, &place);
    const char *name = file_basename(is_oci ? (place.file ? place.file : "") : plain);
    return x_strdup(*name && strcmp(name, "..") != 0 && strcmp(name, ".") != 0 ? name
                                                                               : "model.onnx");
}

/* ---- reading -------------------------------------------------------------------------------- */

struct source {
    const char *path; /* in messages */
    const char *url, *authorization;
    const char *sha256;
    int64_t size_bytes; /* -1: not known */
};

struct reading {
    const struct source *source;
    int fd;
    int64_t at;
    struct digest *digest;
    char *etag;
    bool is_beyond; /* more came than the file has */
    bool ignores_ranges;
};

static int begin_anew(struct reading *reading, struct error *err) {
    digest_freep(&reading->digest);
    reading->digest = digest_new();
    reading->at = 0;
    reading->is_beyond = false;
    free(reading->etag);
    reading->etag = NULL;
    return ftruncate(reading->fd, 0) == 0 ? 0 : error_from_errno(err, errno, "cannot empty a copy");
}

static int take_piece(void *context, const char *data, size_t size, struct error *err) {
    struct reading *reading = context;
    int64_t most = reading->source->size_bytes;
    most = most < 0 ? PUBLISHED_BYTES_MAX : MIN(most, PUBLISHED_BYTES_MAX);
    if ((int64_t)size > most - reading->at) {
        reading->is_beyond = true;
        return error_set(err, ERROR_INVALID, "has more than %lld bytes", (long long)most);
    }
    digest_add(reading->digest, data, size);
    while (size) {
        ssize_t put = pwrite(reading->fd, data, size, reading->at);
        if (put < 0 && errno != EINTR) {
            return error_from_errno(err, errno, "cannot write a copy");
        }
        data += MAX(put, 0);
        size -= (size_t)MAX(put, 0);
        reading->at += MAX(put, 0);
    }
    return 0;
}

static int check_status(const struct source *source, int status, struct error *err) {
    if (status == 404 || status == 410) {
        return error_set(err, ERROR_NOT_FOUND, "the server answered %d", status);
    }
    if (status == 401 || status == 403) {
        return error_set(err, ERROR_DENIED, "the server answered %d%s", status,
                         source->authorization ? "" : " without credentials");
    }
    bool is_passing = status >= 500 || status == 429 || status == 408 || status == 412;
    return error_set(err, is_passing ? ERROR_UNAVAILABLE : ERROR_INVALID, "the server answered %d",
                     status);
}

/* One request for all that is missing. A broken answer is gone on with where the server can say
 * that the file is the same: by a strong ETag, or since it is named by its digest. */
static int read_on(struct published_client *client, struct reading *reading, struct error *err) {
    const struct source *source = reading->source;
    struct published_answer answer = {0};
    bool is_same = reading->etag || source->authorization || source->size_bytes >= 0;
    if (reading->at > 0 && (!is_same || reading->ignores_ranges) && begin_anew(reading, err) < 0) {
        return -1;
    }
    int64_t start = reading->at;
    const struct published_question question = {.url = source->url,
                                                .authorization = source->authorization,
                                                .offset = start,
                                                .etag = reading->etag,
                                                .received = take_piece,
                                                .context = reading};
    int result = published_ask(client, &question, &answer, err);
    if (result == 0 && answer.status >= 300) {
        result = check_status(source, answer.status, err);
        if ((answer.status == 412 || answer.status == 416) && begin_anew(reading, err) == 0) {
            reading->ignores_ranges = true;
            err->kind = ERROR_UNAVAILABLE;
        }
    } else if (start > 0 && (reading->is_beyond || (result == 0 && answer.status != 206))) {
        reading->ignores_ranges = true; /* the whole file came, behind its beginning */
        error_clear(err);
        result = error_set(err, ERROR_UNAVAILABLE, "the server ignores ranges");
    }
    published_answer_release(&answer);
    return result;
}

static int check_whole(struct reading *reading, struct error *err) {
    const struct source *source = reading->source;
    char hex[65];
    digest_end(TAKE(reading->digest), hex);
    if (source->size_bytes >= 0 && reading->at != source->size_bytes) {
        return error_set(err, ERROR_INVALID, "has %lld bytes, not %lld", (long long)reading->at,
                         (long long)source->size_bytes);
    }
    return strcmp(hex, source->sha256) == 0
               ? 0
               : error_set(err, ERROR_INVALID, "its SHA-256 is %s, not %s", hex, source->sha256);
}

/* The state of the file, so that a broken answer can be gone on with. */
static void ask_etag(struct published_client *client, struct reading *reading) {
    const struct published_question question = {.url = reading->source->url, .method = "HEAD"};
    struct published_answer answer = {0};
    struct error ignored = {0};
    if (published_ask(client, &question, &answer, &ignored) == 0 && answer.status == 200) {
        reading->etag = TAKE(answer.etag);
    }
    published_answer_release(&answer);
}

static int read_all(struct published_client *client, const struct source *source, int fd,
                    struct error *err) {
    struct reading reading = {.source = source, .fd = fd};
    int result = begin_anew(&reading, err);
    if (result == 0 && source->size_bytes < 0) {
        ask_etag(client, &reading);
    }
    for (int i = 0; result == 0; i++) {
        struct error why = {0};
        result = read_on(client, &reading, &why);
        if (result == 0) {
            result = check_whole(&reading, err);
            break;
        }
        bool is_passing = why.kind == ERROR_UNAVAILABLE || why.kind == ERROR_TIMEOUT;
        if (!is_passing || i + 1 == TRIES) {
            *err = why;
            break;
        }
        result = 0;
        nanosleep(&(struct timespec){0, (long)(BACK_OFF_MS << i) * 1000000}, NULL);
    }
    digest_freep(&reading.digest);
    free(reading.etag);
    if (result < 0) {
        (void)!ftruncate(fd, 0);
    }
    return result;
}

static int read_or_take(struct published_client *client, const struct source *source, int fd,
                        struct error *err) {
    AUTO(published_cache_close) struct published_cache cache;
    published_cache_open(source->sha256, &cache);
    if (published_cache_take(&cache, source->sha256, fd)) {
        return 0;
    }
    if (read_all(client, source, fd, err) < 0) {
        return -1;
    }
    published_cache_keep(&cache, source->sha256, fd);
    return 0;
}

static int fetch_https(const char *pinned, struct published_client *client, int fd,
                       struct error *err) {
    const char *mark = strstr(pinned, FRAGMENT);
    if (!mark || !is_hex(mark + strlen(FRAGMENT))) {
        return error_set(err, ERROR_INVALID, "needs the file's SHA-256");
    }
    AUTO(text_freep) char *url = x_strndup(pinned, (size_t)(mark - pinned));
    const struct source source = {
        .path = pinned, .url = url, .sha256 = mark + strlen(FRAGMENT), .size_bytes = -1};
    return read_or_take(client, &source, fd, err);
}

static int fetch_oci(const char *pinned, struct published_client *client, int fd,
                     struct error *err) {
    AUTO(oci_place_release) struct oci_place place = {0};
    AUTO(oci_blob_release) struct oci_blob blob = {0};
    if (!oci_place_read(pinned, &place)) {
        return error_set(err, ERROR_INVALID, "not oci://REGISTRY/NAME@sha256:HEX");
    }
    if (oci_find(client, &place, &blob, err) < 0) {
        return -1;
    }
    const struct source source = {.path = pinned,
                                  .url = blob.url,
                                  .authorization = blob.authorization,
                                  .sha256 = blob.digest + strlen("sha256:"),
                                  .size_bytes = blob.size_bytes};
    return read_or_take(client, &source, fd, err);
}

int published_fetch(const char *pinned, int fd, struct error *err) {
    AUTO(published_client_freep) struct published_client *client = NULL;
    AUTO(text_freep) char *shown = x_strndup(pinned, strcspn(pinned, "#"));
    if (published_client_open(&client, err) < 0 ||
        (text_starts(pinned, "https://") ? fetch_https(pinned, client, fd, err)
                                         : fetch_oci(pinned, client, fd, err)) < 0) {
        return error_context(err, "%.300s", shown);
    }
    return 0;
}
