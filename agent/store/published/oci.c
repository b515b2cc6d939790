// SPDX-License-Identifier: Apache-2.0
#include "agent/store/published/oci.h"

#include "agent/store/cloud/cloud_question.h"
#include "agent/store/cloud/cloud_secret.h"
#include "lib/buffer.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MANIFEST_BYTES_MAX = 4 << 20,
    CONFIG_BYTES_MAX = 1 << 20,
    TOKEN_BYTES_MAX = 64 << 10,
    FORM_BYTES_MAX = 8 << 10,
    CHOICES_MAX = 300,
};

/* ---- places --------------------------------------------------------------------------------- */

bool oci_is_digest(const char *text) {
    static const char prefix[] = "sha256:";
    return text_starts(text, prefix) && strlen(text) == strlen(prefix) + 64 &&
           strspn(text + strlen(prefix), "0123456789abcdef") == 64;
}

void oci_place_release(struct oci_place *place) {
    free(place->registry);
    free(place->name);
    free(place->reference);
    free(place->file);
    *place = (struct oci_place){0};
}

/* The reference begins behind the first ":" or "@" after the registry, and a file behind the "/"
 * that follows. */
bool oci_place_read(const char *path, struct oci_place *ret_place) {
    static const char scheme[] = "oci://";
    if (!text_starts(path, scheme)) {
        return false;
    }
    const char *registry = path + strlen(scheme), *name = strchr(registry, '/');
    const char *mark = name ? strpbrk(name, ":@") : NULL;
    if (!mark || mark == name + 1 || name == registry) {
        return false;
    }
    size_t size = strcspn(mark + 1, "/");
    const char *file = mark[1 + size] ? mark + 1 + size + 1 : NULL;
    *ret_place = (struct oci_place){
        .registry = x_strndup(registry, (size_t)(name - registry)),
        .name = x_strndup(name + 1, (size_t)(mark - name - 1)),
        .reference = x_strndup(mark + 1, size),
        .file = x_strdup(file),
    };
    bool is_good = size && (!file || *file) &&
                   (*mark == '@' ? oci_is_digest(ret_place->reference)
                                 : !strpbrk(ret_place->reference, ":@?#"));
    if (!is_good) {
        oci_place_release(ret_place);
    }
    return is_good;
}

void oci_blob_release(struct oci_blob *blob) {
    free(blob->url);
    if (blob->authorization) {
        cloud_wipe(&blob->authorization, strlen(blob->authorization));
    }
    *blob = (struct oci_blob){0};
}

/* ---- who asks ------------------------------------------------------------------------------- */

/* "Basic ..." for the registry; NULL: the config has none. */
static int read_credentials(const char *registry, char **ret_basic, struct error *err) {
    const char *folder = cloud_variable("DOCKER_CONFIG"), *home = cloud_variable("HOME");
    AUTO(text_freep)
    char *path = folder ? file_join(folder, "config.json")
                        : file_join(home ? home : "/", ".docker/config.json");
    AUTO(tree_freep) json_t *config = NULL;
    struct error why = {0};
    char *text = NULL;
    size_t size = 0;
    if (file_read(path, CONFIG_BYTES_MAX, &text, &size, &why) < 0) {
        return why.kind == ERROR_NOT_FOUND ? 0 : error_set(err, ERROR_DENIED, "%s", why.text);
    }
    int result = tree_parse(text, size, CONFIG_BYTES_MAX, &config, &why);
    cloud_wipe(&text, size);
    if (result < 0) {
        return error_set(err, ERROR_INVALID, "%s: a docker config, JSON, is expected", path);
    }
    const char *basic = json_string_value(
        json_object_get(json_object_get(json_object_get(config, "auths"), registry), "auth"));
    if (basic && strspn(basic, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
                               "-_") != strlen(basic)) {
        return error_set(err, ERROR_INVALID, "%s: auths.\"%.100s\".auth: base64 is expected", path,
                         registry);
    }
    *ret_basic = basic ? x_printf("Basic %s", basic) : NULL;
    return 0;
}

/* A quoted value of WWW-Authenticate: realm="..."; NULL: it is not there. The caller frees. */
static char *challenge_value(const char *challenge, const char *name) {
    AUTO(text_freep) char *start = x_printf("%s=\"", name);
    const char *at = strstr(challenge, start);
    at = at ? at + strlen(start) : NULL;
    return at && strchr(at, '"') ? x_strndup(at, strcspn(at, "\"")) : NULL;
}

static int ask_token(struct published_client *client, const struct oci_place *place,
                     const char *challenge, const char *basic, char **ret_authorization,
                     struct error *err) {
    AUTO(text_freep) char *realm = challenge_value(challenge, "realm");
    AUTO(text_freep) char *service = challenge_value(challenge, "service");
    AUTO(text_freep) char *scope = x_printf("repository:%s:pull", place->name);
    AUTO(buffer_release) struct buffer form;
    buffer_init(&form, FORM_BYTES_MAX);
    AUTO(tree_freep) json_t *tree = NULL;
    struct published_answer answer = {0};
    if (!realm || strlen(realm) + (service ? strlen(service) : 0) + strlen(scope) > 2000) {
        return error_set(err, ERROR_INVALID, "the registry names no token service");
    }
    service ? cloud_add_field(&form, "service", service) : (void)0;
    cloud_add_field(&form, "scope", scope);
    AUTO(text_freep)
    char *url =
        x_printf("%s%s%.*s", realm, strchr(realm, '?') ? "&" : "?", (int)form.size, form.data);
    const struct published_question question = {
        .url = url, .authorization = basic, .bytes_max = TOKEN_BYTES_MAX};
    int result = published_ask(client, &question, &answer, err);
    if (result == 0 && answer.status != 200) {
        result = error_set(err, answer.status >= 500 ? ERROR_UNAVAILABLE : ERROR_DENIED,
                           "the token service %.100s answered %d", realm, answer.status);
    } else if (result == 0) {
        struct error ignored = {0};
        result = tree_parse(answer.body, answer.size, TOKEN_BYTES_MAX, &tree, &ignored);
        const char *token = tree_text(tree, "token", tree_text(tree, "access_token", NULL));
        result =
            token && *token && !strpbrk(token, " \r\n")
                ? 0
                : error_set(err, ERROR_INVALID, "the token service %.100s gave no token", realm);
        *ret_authorization = result == 0 ? x_printf("Bearer %s", token) : NULL;
    }
    published_answer_release(&answer);
    return result;
}

/* What the registry wants to see after it has answered 401. */
static int authorize(struct published_client *client, const struct oci_place *place,
                     const char *challenge, char **ret_authorization, struct error *err) {
    char *basic = NULL;
    if (read_credentials(place->registry, &basic, err) < 0) {
        return -1;
    }
    int result = 0;
    if (challenge && strncasecmp(challenge, "Bearer ", strlen("Bearer ")) == 0) {
        result = ask_token(client, place, challenge, basic, ret_authorization, err);
    } else if (basic) {
        *ret_authorization = TAKE(basic);
    } else {
        result = error_set(err, ERROR_DENIED,
                           "the registry answered 401, and the docker config ($DOCKER_CONFIG) has "
                           "no auth for %.100s",
                           place->registry);
    }
    if (basic) {
        cloud_wipe(&basic, strlen(basic));
    }
    return result;
}

/* ---- manifests ------------------------------------------------------------------------------ */

static int check_status(const struct oci_place *place, int status, struct error *err) {
    if (status == 200) {
        return 0;
    }
    if (status == 404) {
        return error_set(err, ERROR_NOT_FOUND, "the registry has no %.40s%.80s of %.100s",
                         oci_is_digest(place->reference) ? "" : "tag ", place->reference,
                         place->name);
    }
    if (status == 401 || status == 403) {
        return error_set(err, ERROR_DENIED,
                         "the registry answered %d: the credentials that it got, or none, do not "
                         "let %.100s be read",
                         status, place->name);
    }
    return error_set(err, status >= 500 || status == 429 ? ERROR_UNAVAILABLE : ERROR_INVALID,
                     "the registry answered %d", status);
}

/* Asks for a manifest, and again with what a 401 wants. *authorization: what was sent, or NULL. */
static int ask_manifest(struct published_client *client, const struct oci_place *place,
                        char **authorization, struct published_answer *ret_answer,
                        struct error *err) {
    AUTO(text_freep)
    char *url =
        x_printf("https://%s/v2/%s/manifests/%s", place->registry, place->name, place->reference);
    struct published_question question = {
        .url = url,
        .authorization = *authorization,
        .accept = "application/vnd.oci.image.manifest.v1+json, "
                  "application/vnd.oci.image.index.v1+json, "
                  "application/vnd.docker.distribution.manifest.v2+json, "
                  "application/vnd.docker.distribution.manifest.list.v2+json",
        .bytes_max = MANIFEST_BYTES_MAX,
    };
    if (published_ask(client, &question, ret_answer, err) < 0) {
        return -1;
    }
    if (ret_answer->status == 401 && !*authorization) {
        AUTO(text_freep) char *challenge = TAKE(ret_answer->challenge);
        published_answer_release(ret_answer);
        if (authorize(client, place, challenge, authorization, err) < 0) {
            return -1;
        }
        question.authorization = *authorization;
        if (published_ask(client, &question, ret_answer, err) < 0) {
            return -1;
        }
    }
    return check_status(place, ret_answer->status, err);
}

/* *ret_manifest may be NULL. ret_digest: of the manifest's bytes, which a reference by digest must
 * have. */
static int read_manifest(struct published_client *client, const struct oci_place *place,
                         char **authorization, char ret_digest[static 72], json_t **ret_manifest,
                         struct error *err) {
    struct published_answer answer = {0};
    char hex[65];
    int result = ask_manifest(client, place, authorization, &answer, err);
    if (result == 0) {
        digest_sha256(answer.body, answer.size, hex);
        snprintf(ret_digest, 72, "sha256:%s", hex);
        bool is_other =
            oci_is_digest(place->reference) && strcmp(ret_digest, place->reference) != 0;
        struct error ignored = {0};
        if (is_other) {
            result = error_set(err, ERROR_INVALID, "the registry's manifest has the digest %s",
                               ret_digest);
        } else if (tree_parse(answer.body, answer.size, MANIFEST_BYTES_MAX, ret_manifest,
                              &ignored) < 0 ||
                   !json_is_object(*ret_manifest)) {
            result = error_set(err, ERROR_INVALID, "the registry's manifest is not a JSON object");
        }
    }
    published_answer_release(&answer);
    return result;
}

int oci_resolve(struct published_client *client, const struct oci_place *place,
                char ret_digest[static 72], struct error *err) {
    AUTO(text_freep) char *authorization = NULL;
    AUTO(tree_freep) json_t *manifest = NULL;
    return read_manifest(client, place, &authorization, ret_digest, &manifest, err);
}

static void add_choice(struct buffer *choices, const char *name) {
    struct error full = {0};
    if (choices->size + strlen(name) < CHOICES_MAX) {
        (void)!buffer_printf(choices, &full, "%s%s", choices->size ? ", " : "", name);
    }
}

/* ---- layers --------------------------------------------------------------------------------- */

static const char *layer_title(const json_t *layer) {
    static const char *const names[] = {"org.opencontainers.image.title", "org.cncf.model.filepath",
                                        "org.cnai.model.filepath"};
    const json_t *annotations = json_object_get(layer, "annotations");
    const char *title = NULL;
    for (size_t i = 0; i < ARRAY_LEN(names) && !title; i++) {
        title = json_string_value(json_object_get(annotations, names[i]));
    }
    return title ? title : "";
}

/* The layer with this title; file: NULL: the only one that ends in .onnx, or the only one. */
static int choose_layer(const json_t *layers, const char *file, const json_t **ret_layer,
                        struct error *err) {
    AUTO(buffer_release) struct buffer choices;
    size_t found = 0, all = json_array_size(layers);
    buffer_init(&choices, 2 * CHOICES_MAX);
    for (size_t i = 0; i < all; i++) {
        const json_t *layer = json_array_get(layers, i);
        const char *title = layer_title(layer);
        bool is_it =
            file ? strcmp(title, file) == 0 : text_ends(title, ".onnx") || (all == 1 && !*title);
        *ret_layer = is_it ? layer : *ret_layer;
        found += is_it;
        add_choice(&choices, *title ? title : "a layer without a title");
    }
    if (found == 1) {
        return 0;
    }
    const char *shown = choices.size ? choices.data : "no files";
    return file ? error_set(err, ERROR_INVALID, "has %s of the name %.100s; it has %.*s",
                            found ? "several files" : "no file", file,
                            (int)MAX(choices.size, strlen("no files")), shown)
                : error_set(err, ERROR_INVALID,
                            "has %zu files named *.onnx; add one's name behind a slash: %.*s",
                            found, (int)MAX(choices.size, strlen("no files")), shown);
}

static int read_layer(const struct oci_place *place, const json_t *layer, struct oci_blob *blob,
                      struct error *err) {
    const char *digest = tree_text(layer, "digest", ""), *type = tree_text(layer, "mediaType", "");
    int64_t size = json_integer_value(json_object_get(layer, "size"));
    if (!oci_is_digest(digest) || size < 0) {
        return error_set(err, ERROR_INVALID, "a layer's digest is not sha256:, or its size is bad");
    }
    if (strstr(type, "tar")) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "its layer is an archive (%.100s); push the file itself, a raw layer",
                         type);
    }
    snprintf(blob->digest, sizeof blob->digest, "%s", digest);
    blob->size_bytes = size;
    blob->url = x_printf("https://%s/v2/%s/blobs/%s", place->registry, place->name, digest);
    return 0;
}

/* The only manifest of an index, attestations apart. */
static int choose_manifest(const json_t *list, const char **ret_digest, struct error *err) {
    size_t found = 0;
    AUTO(buffer_release) struct buffer choices;
    buffer_init(&choices, 2 * CHOICES_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *digest = tree_text(one, "digest", "");
        const json_t *notes = json_object_get(one, "annotations");
        if (oci_is_digest(digest) && !json_object_get(notes, "vnd.docker.reference.type")) {
            *ret_digest = digest;
            add_choice(&choices, digest);
            found++;
        }
    }
    return found == 1 ? 0
                      : error_set(err, ERROR_INVALID,
                                  "is an index of %zu manifests; name one of them by its digest, "
                                  "@sha256:...: %.*s",
                                  found, (int)choices.size, choices.size ? choices.data : "");
}

int oci_find(struct published_client *client, const struct oci_place *place,
             struct oci_blob *ret_blob, struct error *err) {
    AUTO(tree_freep) json_t *manifest = NULL, *index = NULL;
    char digest[72];
    const char *chosen = NULL;
    const json_t *layer = NULL, *list = NULL;
    int result = read_manifest(client, place, &ret_blob->authorization, digest, &manifest, err);
    list = result == 0 ? json_object_get(manifest, "manifests") : NULL;
    if (list) {
        result = choose_manifest(list, &chosen, err);
        struct oci_place inner = *place;
        inner.reference = (char *)(uintptr_t)chosen; /* only read */
        index = TAKE(manifest);
        result = result < 0 ? -1
                            : read_manifest(client, &inner, &ret_blob->authorization, digest,
                                            &manifest, err);
    }
    result =
        result < 0 ||
                choose_layer(json_object_get(manifest, "layers"), place->file, &layer, err) < 0 ||
                read_layer(place, layer, ret_blob, err) < 0
            ? -1
            : 0;
    if (result < 0) {
        oci_blob_release(ret_blob);
    }
    return result;
}
