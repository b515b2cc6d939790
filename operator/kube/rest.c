// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/rest.h"

#include <ctype.h>
#include <string.h>

enum { PIECE_MAX = 253 };

/* Kinds with an irregular plural. */
static const char *const irregular[][2] = {{"Endpoints", "endpoints"}};

static const char *const without_namespace[] = {
    "APIService",
    "CSIDriver",
    "CSINode",
    "CertificateSigningRequest",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "SelfSubjectAccessReview",
    "StorageClass",
    "SubjectAccessReview",
    "TokenReview",
    "ValidatingWebhookConfiguration",
    "VolumeAttachment",
};

bool rest_is_namespaced(const char *kind) {
    for (size_t i = 0; i < ARRAY_LEN(without_namespace); i++) {
        if (strcmp(without_namespace[i], kind) == 0) {
            return false;
        }
    }
    return true;
}

const char *rest_older_version(const char *api_version) {
    return strcmp(api_version, "windlass.dev/v1beta1") == 0 ? "windlass.dev/v1alpha1" : NULL;
}

static bool is_vowel(char letter) {
    return letter && strchr("aeiou", letter);
}

char *rest_plural(const char *kind) {
    for (size_t i = 0; i < ARRAY_LEN(irregular); i++) {
        if (strcmp(irregular[i][0], kind) == 0) {
            return x_strdup(irregular[i][1]);
        }
    }
    AUTO(text_freep) char *lower = x_strdup(kind);
    for (char *letter = lower; *letter; letter++) {
        *letter = (char)tolower((unsigned char)*letter);
    }
    size_t length = strlen(lower);
    if (length > 1 && lower[length - 1] == 'y' && !is_vowel(lower[length - 2])) {
        return x_printf("%.*sies", (int)(length - 1), lower);
    }
    bool hisses = text_ends(lower, "s") || text_ends(lower, "x") || text_ends(lower, "ch") ||
                  text_ends(lower, "sh");
    return x_printf("%s%s", lower, hisses ? "es" : "s");
}

static int check_piece(const char *what, const char *text, const char *also, struct error *err) {
    size_t length = strlen(text);
    bool is_fine = length && length <= PIECE_MAX && strcmp(text, ".") != 0 && !strstr(text, "..");
    for (size_t i = 0; i < length && is_fine; i++) {
        is_fine = isalnum((unsigned char)text[i]) || strchr(also, text[i]);
    }
    return is_fine ? 0 : error_set(err, ERROR_INVALID, "invalid %s '%.80s'", what, text);
}

int rest_path(const struct rest_place *place, char **ret_path, struct error *err) {
    bool has_namespace = place->namespace && *place->namespace && rest_is_namespaced(place->kind);
    if (check_piece("apiVersion", place->api_version, "./-", err) < 0 ||
        check_piece("kind", place->kind, "", err) < 0 ||
        (has_namespace && check_piece("namespace", place->namespace, "-", err) < 0) ||
        (place->name && check_piece("name", place->name, "-.:", err) < 0) ||
        (place->part && check_piece("subresource", place->part, "", err) < 0)) {
        return -1;
    }
    AUTO(text_freep) char *plural = rest_plural(place->kind);
    *ret_path = x_printf("%s/%s%s%s/%s%s%s%s%s", strchr(place->api_version, '/') ? "/apis" : "/api",
                         place->api_version, has_namespace ? "/namespaces/" : "",
                         has_namespace ? place->namespace : "", plural, place->name ? "/" : "",
                         place->name ? place->name : "", place->part ? "/" : "",
                         place->part ? place->part : "");
    return 0;
}
