// SPDX-License-Identifier: Apache-2.0
/* The parts of az:// that need no service: an account's address, the signing of requests, the size
 * of blocks. With a service: tests/conformance/test_store.c, tests/e2e/storage/test_azure.sh. */
#include "agent/store/azure/azure_store.h"
#include "lib/text/base64.h"
#include "tests/test.h"

#include <stdlib.h>

static void places(void) {
    static const struct {
        const char *path, *endpoint, *stores; /* from the environment */
        const char
            *wanted; /* endpoint|host|port|container|folder|read-only|client; NULL: INVALID */
    } rows[] = {
        {"az://films/ins/a/b", NULL, NULL,
         "https://films.blob.core.windows.net|films.blob.core.windows.net|443|ins|a/b|0|"},
        {"az://films/ins", "https://127.0.0.1:10000/ACCOUNT/", NULL,
         "https://127.0.0.1:10000/films|127.0.0.1|10000|ins||0|"},
        {"az://films/ins/a//", "https://[::1]:10000/ACCOUNT", NULL,
         "https://[::1]:10000/films|::1|10000|ins|a|0|"},
        {"az://films/$web/x", "https://ACCOUNT.blob.core.chinacloudapi.cn", NULL,
         "https://films.blob.core.chinacloudapi.cn|films.blob.core.chinacloudapi.cn|443|$web|x|0|"},
        {"az://films/ins", NULL,
         "[{\"account\":\"other\"},{\"account\":\"films\",\"readOnly\":true}]",
         "https://films.blob.core.windows.net|films.blob.core.windows.net|443|ins||1|"},
        {"az://films/ins", NULL, "[{\"account\":\"films\",\"clientID\":\"6c3\"}]",
         "https://films.blob.core.windows.net|films.blob.core.windows.net|443|ins||0|6c3"},
        {"az://films/ins", "https://127.0.0.1:10000/ACCOUNT",
         "[{\"account\":\"films\",\"endpoint\":\"https://films.blob.core.usgovcloudapi.net/\"}]",
         "https://films.blob.core.usgovcloudapi.net|films.blob.core.usgovcloudapi.net|443|ins||0|"},
        {"az://films/ins", NULL, "[{\"account\":\"films\",\"endpoint\":\"films.core.net\"}]", NULL},
        {"az://films/ins", NULL, "[{\"account\":\"films\",\"endpoint\":\"https://f?sig=x\"}]",
         NULL},
        {"az://Films/in", NULL, NULL, NULL},
        {"az://films", NULL, NULL, NULL},
        {"az://films/", NULL, NULL, NULL},
        {"az://films/ins/../x", NULL, NULL, NULL},
        {"az://films/ins/a//b", NULL, NULL, NULL},
        {"az://films.evil.example/ins", NULL, NULL, NULL},
        {"az://films/ins?x", NULL, NULL, NULL},
        {"az://films/ins", "http://ACCOUNT.blob.core.windows.net", NULL, NULL},
        {"az://films/ins", "https://blob.core.windows.net", NULL, NULL},
        {"az://films/ins", "https://ACCOUNT:99999", NULL, NULL},
        {"az://films/ins", "https://user@ACCOUNT", NULL, NULL},
        {"az://films/ins", NULL, "{}", NULL},
        {"az://films/ins", NULL, "[", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct azure_place place;
        setenv("WINDLASS_BLOB_ENDPOINT", rows[i].endpoint ? rows[i].endpoint : "", 1);
        setenv("WINDLASS_STORES", rows[i].stores ? rows[i].stores : "", 1);
        int result = azure_place_read(rows[i].path, &place, &err);
        if (rows[i].wanted) {
            CHECK_OK(result, &err);
        }
        CHECK_INT(err.kind, rows[i].wanted ? ERROR_NONE : ERROR_INVALID);
        if (result < 0) {
            continue;
        }
        AUTO(text_freep)
        char *seen = x_printf("%s|%s|%d|%s|%s|%d|%s", place.base.endpoint, place.base.host,
                              place.base.port, place.container, place.base.folder,
                              place.base.is_read_only, place.client_id ? place.client_id : "");
        CHECK_STR(seen, rows[i].wanted ? rows[i].wanted : "");
        azure_place_release(&place);
    }
}

static const char *header_of(const struct cloud_signed *request, const char *name) {
    for (size_t i = 0; request->headers[i]; i++) {
        if (text_starts(request->headers[i], name)) {
            return request->headers[i];
        }
    }
    return "";
}

/* Another program (python3: hmac, base64) computed the signatures from the text that the
 * documentation of Shared Key prescribes; the conformance suite sends such to a service. */
static void signatures(void) {
    struct error err = {0};
    struct azure_place place;
    struct cloud_signed request;
    setenv("WINDLASS_BLOB_ENDPOINT", "https://127.0.0.1:10000/ACCOUNT", 1);
    setenv("WINDLASS_STORES", "", 1);
    CHECK_OK(azure_place_read("az://films/ins/a b", &place, &err), &err);
    struct cloud_grant key = {.kind = AZURE_KEY};
    CHECK_OK(base64_decode("AAECAwQFBgcICQoLDA0ODw==", &key.bytes, &key.size, &err), &err);
    struct cloud_call put = {.method = "PUT",
                             .name = "x/\xC3\xA4&?.bin",
                             .if_none_match = "*",
                             .body = "hello",
                             .body_size = 5};
    azure_sign(&place.base, &put, &key, 1763683200123, &request);
    CHECK_STR(request.url, "https://127.0.0.1:10000/films/ins/a%20b/x/%C3%A4%26%3F.bin");
    CHECK_STR(header_of(&request, "x-ms-date"), "x-ms-date: Fri, 21 Nov 2025 00:00:00 GMT");
    CHECK_STR(header_of(&request, "If-None-Match"), "If-None-Match: *");
    CHECK_STR(header_of(&request, "Authorization"),
              "Authorization: SharedKey films:XHhgNU8VrQa5WKurJGz/+Yh9kWDLOxJXbXgJBPBZwPI=");
    cloud_signed_release(&request);
    struct cloud_call list = {
        .method = "GET",
        .parameters = {{"comp", "list"}, {"prefix", "a b/"}, {"restype", "container"}}};
    azure_sign(&place.base, &list, &key, 1763683200123, &request);
    CHECK_STR(request.url,
              "https://127.0.0.1:10000/films/ins?comp=list&prefix=a%20b%2F&restype=container");
    CHECK_STR(request.shown_url, "https://127.0.0.1:10000/films/ins");
    CHECK_STR(header_of(&request, "Authorization"),
              "Authorization: SharedKey films:ta9NoZ6Rv7ha7fv2lx47k8+IZ6Ae4D6p1WR+NAv36OE=");
    cloud_signed_release(&request);
    struct cloud_grant sas = {
        .kind = AZURE_SAS, .bytes = (char *)(uintptr_t) "sv=1&sig=abc%3D", .size = 15};
    struct cloud_call get = {
        .method = "GET", .name = "n", .if_match = "0x8", .first_byte = 10, .range_size = 5};
    azure_sign(&place.base, &get, &sas, 1763683200123, &request);
    CHECK_STR(request.url, "https://127.0.0.1:10000/films/ins/a%20b/n?sv=1&sig=abc%3D");
    CHECK_STR(request.shown_url, "https://127.0.0.1:10000/films/ins/a%20b/n");
    CHECK_STR(header_of(&request, "Authorization"), "");
    CHECK_STR(header_of(&request, "Range"), "Range: bytes=10-14");
    CHECK_STR(header_of(&request, "If-Match"), "If-Match: \"0x8\"");
    cloud_signed_release(&request);
    azure_sign(&place.base, &get, &key, 1763683200123, &request);
    CHECK_STR(header_of(&request, "Authorization"),
              "Authorization: SharedKey films:or7O0WFgFYgQ8yMcN+r+iw2uF7GreRvUQrf7aR7O5Dw=");
    cloud_signed_release(&request);
    cloud_grant_release(&key);
    azure_place_release(&place);
}

static void blocks_are_enough(void) {
    int64_t sum = 0;
    for (int64_t i = 0; i < AZURE_BLOCKS_MAX; i++) {
        CHECK(azure_block_bytes(i) >= CLOUD_PIECE_BYTES && azure_block_bytes(i) <= 4000LL << 20);
        sum += azure_block_bytes(i);
    }
    CHECK(sum >= STORE_UPLOAD_MAX);
}

int main(void) {
    TEST(places);
    TEST(signatures);
    TEST(blocks_are_enough);
    return TEST_END();
}
