// SPDX-License-Identifier: Apache-2.0
/* The parts of s3:// and gs:// that need no service: a bucket's address, the signing of requests,
 * listings, the size of parts. With a service: tests/conformance/test_store_s3.c. */
#include "agent/store/s3/s3_store.h"
#include "lib/buffer.h"
#include "tests/test.h"

#include <stdlib.h>

/* The other's does not count. */
static void set_endpoint(bool is_google, const char *endpoint) {
    setenv(is_google ? "WINDLASS_GS_ENDPOINT" : "WINDLASS_S3_ENDPOINT", endpoint ? endpoint : "",
           1);
    setenv(is_google ? "WINDLASS_S3_ENDPOINT" : "WINDLASS_GS_ENDPOINT", "https://no", 1);
}

static void places(void) {
    static const struct {
        const char *path, *endpoint, *buckets; /* from the environment */
        const char *wanted; /* endpoint|authority|bucket|folder|region|read-only; NULL: INVALID */
    } rows[] = {
        {"s3://films/a/b", NULL, NULL,
         "https://films.s3.us-east-1.amazonaws.com|films.s3.us-east-1.amazonaws.com|films|a/b|"
         "us-east-1|0"},
        {"s3://my.films", NULL, "[{\"name\":\"my.films\",\"region\":\"eu-west-1\"}]",
         "https://s3.eu-west-1.amazonaws.com|s3.eu-west-1.amazonaws.com|my.films||eu-west-1|0"},
        {"s3://films", NULL, "[{\"name\":\"films\",\"region\":\"cn-north-1\",\"readOnly\":true}]",
         "https://films.s3.cn-north-1.amazonaws.com.cn|films.s3.cn-north-1.amazonaws.com.cn|films||"
         "cn-north-1|1"},
        {"s3://films/a//", "https://127.0.0.1:9000/", "[{\"name\":\"other\"}]",
         "https://127.0.0.1:9000|127.0.0.1:9000|films|a|us-east-1|0"},
        {"s3://films", "https://[::1]:443", NULL, "https://[::1]:443|[::1]|films||us-east-1|0"},
        {"s3://films", "https://s3.example.com:8443",
         "[{\"name\":\"films\",\"style\":\"Virtual\"}]",
         "https://films.s3.example.com:8443|films.s3.example.com:8443|films||us-east-1|0"},
        {"s3://films", "https://x",
         "[{\"name\":\"films\",\"endpoint\":\"https://rgw.example.com/s3\"}]",
         "https://rgw.example.com/s3|rgw.example.com|films||us-east-1|0"},
        {"gs://films/a/b", NULL, NULL,
         "https://storage.googleapis.com|storage.googleapis.com|films|a/b|auto|0"},
        {"gs://my_films", "https://127.0.0.1:1",
         "[{\"name\":\"my_films\",\"region\":\"eu\",\"readOnly\":true}]",
         "https://127.0.0.1:1|127.0.0.1:1|my_films||eu|1"},
        {"gs://films", "https://storage.googleapis.com",
         "[{\"name\":\"films\",\"style\":\"Virtual\"}]",
         "https://films.storage.googleapis.com|films.storage.googleapis.com|films||auto|0"},
        {"gs://_films/a", NULL, NULL, NULL},
        {"gs://films/../x", NULL, NULL, NULL},
        {"s3://my_films", NULL, NULL, NULL},
        {"s3://fi", NULL, NULL, NULL},
        {"s3://Films/a", NULL, NULL, NULL},
        {"s3://-films/a", NULL, NULL, NULL},
        {"s3://fi..lms/a", NULL, NULL, NULL},
        {"s3://films/../x", NULL, NULL, NULL},
        {"s3://films/a//b", NULL, NULL, NULL},
        {"s3://films", "http://127.0.0.1:9000", NULL, NULL},
        {"s3://films", "https://user@host", NULL, NULL},
        {"s3://films", NULL, "[{\"name\":\"films\",\"region\":\"eu west\"}]", NULL},
        {"s3://films", NULL, "{}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct s3_place place;
        set_endpoint(text_starts(rows[i].path, "gs"), rows[i].endpoint);
        setenv("WINDLASS_BUCKETS", rows[i].buckets ? rows[i].buckets : "", 1);
        int result = s3_place_read(rows[i].path, &place, &err);
        if (rows[i].wanted) {
            CHECK_OK(result, &err);
        }
        CHECK_INT(err.kind, rows[i].wanted ? ERROR_NONE : ERROR_INVALID);
        if (result < 0) {
            continue;
        }
        AUTO(text_freep)
        char *seen =
            x_printf("%s|%s|%s|%s|%s|%d", place.base.endpoint, place.authority, place.bucket,
                     place.base.folder, place.region, place.base.is_read_only);
        CHECK_STR(seen, rows[i].wanted ? rows[i].wanted : "");
        s3_place_release(&place);
    }
    struct error err = {0};
    struct s3_place place;
    CHECK_INT(s3_place_read("s3://films--use1-az4--x-s3/a", &place, &err), -1);
    CHECK_INT(err.kind, ERROR_UNSUPPORTED);
}

static const char *header_of(const struct cloud_signed *request, const char *name) {
    for (size_t i = 0; request->headers[i]; i++) {
        if (text_starts(request->headers[i], name)) {
            return request->headers[i];
        }
    }
    return "";
}

/* Another program (python3: hmac, hashlib) computed the signatures from the canonical requests that
 * the documentation prescribes; the conformance suite sends such to a service. */
static void signatures(void) {
    struct error err = {0};
    struct s3_place place;
    struct cloud_signed request;
    struct cloud_grant key = {.name = (char *)(uintptr_t) "AKIAIOSFODNN7EXAMPLE",
                              .bytes = (char *)(uintptr_t) "wJalrXUtnFEMI/K7MDENG",
                              .size = strlen("wJalrXUtnFEMI/K7MDENG")};
    setenv("WINDLASS_S3_ENDPOINT", "https://127.0.0.1:9000", 1);
    setenv("WINDLASS_BUCKETS", "", 1);
    CHECK_OK(s3_place_read("s3://films/a b", &place, &err), &err);
    struct cloud_call put = {.method = "PUT",
                             .name = "x/\xC3\xA4&?.bin",
                             .if_none_match = "*",
                             .body = "hello",
                             .body_size = 5};
    s3_sign(&place.base, &put, &key, 1763683200123, &request);
    CHECK_STR(request.url, "https://127.0.0.1:9000/films/a%20b/x/%C3%A4%26%3F.bin");
    CHECK_STR(header_of(&request, "x-amz-date"), "x-amz-date:20251121T000000Z");
    CHECK_STR(header_of(&request, "If-None-Match"), "If-None-Match: *");
    CHECK_STR(header_of(&request, "Authorization"),
              "Authorization: AWS4-HMAC-SHA256 "
              "Credential=AKIAIOSFODNN7EXAMPLE/20251121/us-east-1/s3/aws4_request,"
              "SignedHeaders=host;x-amz-content-sha256;x-amz-date,"
              "Signature=2ef53293cc09a5fb5356091cef22c87cb5628e0f3644f081066cdd70e9ce7dce");
    cloud_signed_release(&request);
    key.session = (char *)(uintptr_t) "token==";
    struct cloud_call begin = {
        .method = "POST", .name = "n", .parameters = {{"uploads", ""}}, .nonce = "abc", .body = ""};
    s3_sign(&place.base, &begin, &key, 1763683200123, &request);
    CHECK_STR(request.url, "https://127.0.0.1:9000/films/a%20b/n?uploads=");
    CHECK_STR(request.shown_url, "https://127.0.0.1:9000/films/a%20b/n");
    CHECK_STR(header_of(&request, "Authorization"),
              "Authorization: AWS4-HMAC-SHA256 "
              "Credential=AKIAIOSFODNN7EXAMPLE/20251121/us-east-1/s3/aws4_request,"
              "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-meta-windlass;"
              "x-amz-security-token,"
              "Signature=863f7a4f0fe402a360cd6b190d8d50940849a17f8f4abca73e628256610d185a");
    cloud_signed_release(&request);
    s3_place_release(&place);
}

/* curl computed the signatures: --aws-sigv4 goog:goog:auto:storage, with these headers. */
static void signatures_of_google(void) {
    struct error err = {0};
    struct s3_place place;
    struct cloud_signed request;
    struct cloud_grant key = {.name = (char *)(uintptr_t) "GOOG1EEXAMPLE",
                              .bytes = (char *)(uintptr_t) "wJalrXUtnFEMI/K7MDENG",
                              .size = strlen("wJalrXUtnFEMI/K7MDENG")};
    setenv("WINDLASS_GS_ENDPOINT", "", 1);
    setenv("WINDLASS_BUCKETS", "", 1);
    CHECK_OK(s3_place_read("gs://films/a b", &place, &err), &err);
    struct cloud_call put = {.method = "PUT",
                             .name = "x/\xC3\xA4&?.bin",
                             .if_none_match = "*",
                             .body = "hello",
                             .body_size = 5};
    s3_sign(&place.base, &put, &key, 1763683200123, &request);
    CHECK_STR(request.url, "https://storage.googleapis.com/films/a%20b/x/%C3%A4%26%3F.bin");
    CHECK_STR(header_of(&request, "x-goog-if"), "x-goog-if-generation-match:0");
    CHECK_STR(header_of(&request, "If-None-Match"), "");
    CHECK_STR(header_of(&request, "x-amz"), "");
    CHECK_STR(header_of(&request, "Authorization"),
              "Authorization: GOOG4-HMAC-SHA256 "
              "Credential=GOOG1EEXAMPLE/20251121/auto/storage/goog4_request,"
              "SignedHeaders=host;x-goog-content-sha256;x-goog-date;x-goog-if-generation-match,"
              "Signature=d32938c52ddddd52400b5856705a7ce489df90b6cfa2d11f83a8a09b813a4781");
    cloud_signed_release(&request);
    struct cloud_call begin = {
        .method = "POST", .name = "n", .parameters = {{"uploads", ""}}, .nonce = "abc", .body = ""};
    s3_sign(&place.base, &begin, &key, 1763683200123, &request);
    CHECK_STR(header_of(&request, "Authorization"),
              "Authorization: GOOG4-HMAC-SHA256 "
              "Credential=GOOG1EEXAMPLE/20251121/auto/storage/goog4_request,"
              "SignedHeaders=host;x-goog-content-sha256;x-goog-date;x-goog-meta-windlass,"
              "Signature=b2ef2d8f734d8c42b556cb0c85221d389db26922727fe04e559d41259489976c");
    cloud_signed_release(&request);
    key.name = NULL; /* a token */
    s3_sign(&place.base, &put, &key, 1763683200123, &request);
    CHECK_STR(header_of(&request, "Authorization"), "Authorization: Bearer wJalrXUtnFEMI/K7MDENG");
    CHECK_STR(header_of(&request, "x-goog-if"), "x-goog-if-generation-match:0");
    cloud_signed_release(&request);
    s3_place_release(&place);
}

static int collect(void *context, const struct cloud_entry *entry, struct error *err) {
    return buffer_printf(context, err, "%s|%lld|%s|%lld;", entry->name,
                         (long long)entry->size_bytes, entry->token,
                         (long long)(cloud_date_ns(entry->modified) / 1000000000));
}

#define LIST(inner) "<ListBucketResult xmlns=\"http://x/\">" inner "</ListBucketResult>"

#define ENCODED "<EncodingType>url</EncodingType>"

static void listings(void) {
    static const struct {
        const char *xml, *wanted;
    } rows[] = {
        {"\n<?xml version=\"1.0\" encoding=\"UTF-8\"?>" LIST(
             "<EncodingType>url</EncodingType><Name>films</Name><Prefix/><MaxKeys>1</MaxKeys>"
             "<IsTruncated>true</IsTruncated><Contents><Key>l/a+%26%2B%C3%A4.txt</Key>"
             "<LastModified>2026-11-29T22:14:21.952Z</LastModified><ETag>&quot;5d-2&quot;</ETag>"
             "<Size>12</Size><Owner><ID>x</ID></Owner></Contents>"
             "<NextContinuationToken>a&amp;b</NextContinuationToken>"),
         "l/a &+\xC3\xA4.txt|12|5d-2|1795990461;>a&b"},
        {LIST("<IsTruncated>false</IsTruncated><NextContinuationToken>a</NextContinuationToken>"),
         ">"},
        {LIST("<Contents><Key>a</Key></Contents><Contents><Key>b</Key><Size>1</Size></Contents>"),
         "a|0||0;b|1||0;>"},
        {LIST("<CommonPrefixes><Key>no</Key></CommonPrefixes>"), ">"},
        {LIST("<IsTruncated>true</IsTruncated>"), "[unavailable]"},
        {LIST("<Contents><Size>1</Size></Contents>"), "[unavailable]"},
        {LIST(ENCODED "<Contents><Key>a%0</Key></Contents>"), "[unavailable]"},
        {LIST(ENCODED "<Contents><Key>a%00b</Key></Contents>"), "[unavailable]"},
        {LIST("<Contents><Key>a+b%20%0</Key></Contents>"), "a+b%20%0|0||0;>"},
        {LIST("<Contents><Key>a+b%20</Key></Contents>" ENCODED), "a b |0||0;>"},
        {LIST("<Contents><Key>a</Key><Size>-1</Size></Contents>"), "[unavailable]"},
        {"<Error><Code>NoSuchBucket</Code></Error>", "[unavailable]"},
        {"<ListBucketResult><Contents>", "[unavailable]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(buffer_release) struct buffer told;
        AUTO(text_freep) char *copy = x_strdup(rows[i].xml);
        const char *marker = NULL;
        buffer_init(&told, 1 << 20);
        bool is_list = s3_list_read(copy, strlen(copy), collect, &told, &marker, &err) == 0;
        AUTO(text_freep)
        char *seen = is_list
                         ? x_printf("%.*s>%s", (int)told.size, told.size ? told.data : "", marker)
                         : x_printf("[%s]", error_kind_name(err.kind));
        CHECK_STR(seen, rows[i].wanted);
    }
}

static void parts_are_enough(void) {
    int64_t sum = 0;
    for (int64_t i = 0; i < S3_PARTS_MAX; i++) {
        CHECK(s3_part_bytes(i) >= CLOUD_PIECE_BYTES && s3_part_bytes(i) <= (int64_t)5 << 30);
        sum += s3_part_bytes(i);
    }
    CHECK(sum >= (int64_t)800 << 30);
}

int main(void) {
    TEST(places);
    TEST(signatures);
    TEST(signatures_of_google);
    TEST(listings);
    TEST(parts_are_enough);
    return TEST_END();
}
