// SPDX-License-Identifier: Apache-2.0
#include "agent/store/s3/s3_place.h"

#include <stdlib.h>
#include <string.h>

static const char https[] = "https://";

void s3_place_release(struct s3_place *place) {
    free(place->bucket);
    free(place->region);
    free(place->authority);
    cloud_place_release(&place->base);
    *place = (struct s3_place){0};
}

static int refuse_path(const char *spec_path, struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "\"%.80s\": %.5sBUCKET/path/in/it is expected, the bucket of 3 to 63 "
                     "lower-case letters, digits, dots and dashes, no part \"..\"",
                     spec_path, spec_path);
}

static int read_path(const char *spec_path, struct s3_place *place, struct error *err) {
    static const char ends[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char inner[] = "_-.abcdefghijklmnopqrstuvwxyz0123456789";
    place->is_google = text_starts(spec_path, "gs://");
    const char *bucket = spec_path + strlen("s3://");
    size_t size = strcspn(bucket, "/");
    if (size < 3 || size > 63 || strspn(bucket, place->is_google ? inner : inner + 1) != size ||
        !strchr(ends, bucket[0]) || !strchr(ends, bucket[size - 1])) {
        return refuse_path(spec_path, err);
    }
    place->bucket = x_strndup(bucket, size);
    if (strstr(place->bucket, "..")) {
        return refuse_path(spec_path, err);
    }
    if (text_ends(place->bucket, "--x-s3")) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "\"%.80s\": directory buckets list in no order; a general purpose bucket "
                         "is expected",
                         spec_path);
    }
    return cloud_place_set_folder(&place->base, bucket + size + (bucket[size] == '/'))
               ? 0
               : refuse_path(spec_path, err);
}

static int read_region(struct s3_place *place, const char *given, struct error *err) {
    const char *variable = place->is_google ? "auto" : cloud_variable("AWS_REGION");
    const char *region = given ? given : variable ? variable : "us-east-1";
    size_t size = strspn(region, "-abcdefghijklmnopqrstuvwxyz0123456789");
    if (!size || size > 40 || region[size]) {
        return error_set(err, ERROR_INVALID,
                         "%s is \"%.60s\", a region such as eu-central-1 is expected",
                         given ? "its region in spec.buckets" : "AWS_REGION", region);
    }
    place->region = x_strdup(region);
    return 0;
}

/* What a host name must not get as its first part: a dot more makes the certificate another's. */
static bool fits_host(const char *bucket) {
    return !strchr(bucket, '.');
}

static char *make_standard_endpoint(const struct s3_place *place) {
    return place->is_google ? x_strdup("https://storage.googleapis.com")
                            : x_printf("https://s3.%s.amazonaws.com%s", place->region,
                                       text_starts(place->region, "cn-") ? ".cn" : "");
}

static int read_endpoint(struct s3_place *place, const json_t *bucket, struct error *err) {
    const char *variable = place->is_google ? "WINDLASS_GS_ENDPOINT" : "WINDLASS_S3_ENDPOINT";
    const char *listed = tree_text(bucket, "endpoint", NULL);
    const char *given = listed ? listed : cloud_variable(variable);
    const char *style = tree_text(bucket, "style", NULL);
    AUTO(text_freep) char *standard = make_standard_endpoint(place);
    const char *whole = given ? given : standard;
    place->is_virtual = style ? strcmp(style, "Virtual") == 0
                              : !given && !place->is_google && fits_host(place->bucket);
    AUTO(text_freep)
    char *address = place->is_virtual && text_starts(whole, https)
                        ? x_printf("%s%s.%s", https, place->bucket, whole + strlen(https))
                        : x_strdup(whole);
    if (!cloud_place_set_endpoint(&place->base, address)) {
        return error_set(err, ERROR_INVALID, "%s is \"%.100s\", an address such as %s is expected",
                         listed ? "its endpoint in spec.buckets" : variable, whole,
                         "https://s3.example.com:8443");
    }
    const char *host = place->base.endpoint + strlen(https);
    place->authority = x_strndup(host, strcspn(host, "/"));
    if (text_ends(place->authority, ":443")) {
        place->authority[strlen(place->authority) - strlen(":443")] = 0;
    }
    return 0;
}

static enum s3_identity read_identity(const json_t *bucket) {
    const char *identity = tree_text(bucket, "identity", NULL);
    return !identity                       ? S3_IDENTITY_NONE
           : strcmp(identity, "Node") == 0 ? S3_IDENTITY_NODE
                                           : S3_IDENTITY_SERVICE_ACCOUNT;
}

int s3_place_read(const char *spec_path, struct s3_place *ret_place, struct error *err) {
    AUTO(s3_place_release) struct s3_place place = {0};
    AUTO(tree_freep) json_t *buckets = NULL;
    const json_t *bucket = NULL;
    if (read_path(spec_path, &place, err) < 0 ||
        cloud_find_listed("WINDLASS_BUCKETS", "name", place.bucket, &buckets, &bucket, err) < 0 ||
        read_region(&place, tree_text(bucket, "region", NULL), err) < 0 ||
        read_endpoint(&place, bucket, err) < 0) {
        return -1;
    }
    place.base.is_read_only = tree_bool(bucket, "readOnly", false);
    place.identity = read_identity(bucket);
    AUTO(text_freep) char *folder = x_printf("s3-%s", place.bucket);
    cloud_place_read(&place.base, folder);
    *ret_place = place;
    place = (struct s3_place){0};
    return 0;
}
