// SPDX-License-Identifier: Apache-2.0
#include "lib/net/tls.h"

#include "lib/net/tls_identity.h"
#include "tests/test.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void test_a_made_certificate_belongs_to_its_key(void) {
    struct error err = {0};
    char *certificate_pem = NULL, *key_pem = NULL;
    CHECK_OK(tls_make_certificate(&certificate_pem, &key_pem, NULL, &err), &err);
    uint8_t *certificate = NULL, *key = NULL;
    size_t certificate_size = 0, key_size = 0;
    CHECK_OK(tls_pem_to_der(certificate_pem, false, &certificate, &certificate_size, &err), &err);
    CHECK_OK(tls_pem_to_der(key_pem, true, &key, &key_size, &err), &err);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    CHECK_INT(SSL_CTX_use_certificate_ASN1(context, (int)certificate_size, certificate), 1);
    CHECK_INT(SSL_CTX_use_PrivateKey_ASN1(EVP_PKEY_EC, context, key, (long)key_size), 1);
    CHECK_INT(SSL_CTX_check_private_key(context), 1);
    X509 *x509 = SSL_CTX_get0_certificate(context);
    CHECK_INT(X509_check_ip_asc(x509, "127.0.0.1", 0), 1);
    CHECK_INT(X509_check_purpose(x509, X509_PURPOSE_SSL_SERVER, 0), 1);
    CHECK_INT(X509_check_purpose(x509, X509_PURPOSE_SSL_SERVER, 1), 0); /* not an authority */
    time_t nine_years = time(NULL) + (time_t)9 * 365 * 86400;
    CHECK(X509_cmp_time(X509_get0_notAfter(x509), &nine_years) > 0);
    CHECK(X509_cmp_time(X509_get0_notBefore(x509), NULL) < 0);
    SSL_CTX_free(context);
    free(certificate);
    free(key);
    free(certificate_pem);
    free(key_pem);
}

static void test_two_certificates_differ(void) {
    struct error err = {0};
    char hex[2][65];
    for (int i = 0; i < 2; i++) {
        AUTO(text_freep) char *certificate = NULL;
        AUTO(text_freep) char *key = NULL;
        CHECK_OK(tls_make_certificate(&certificate, &key, NULL, &err), &err);
        CHECK_OK(tls_certificate_sha256(certificate, hex[i], &err), &err);
        CHECK_INT(strlen(hex[i]), 64);
    }
    CHECK(strcmp(hex[0], hex[1]) != 0);
}

static void test_the_digest_is_the_one_openssl_prints(void) {
    /* openssl x509 -outform der | sha256sum */
    static const char pem[] = "-----BEGIN CERTIFICATE-----\n"
                              "MIIBhTCCASugAwIBAgIUYtVyAEt5mu8/InitaNARKEp8BcowCgYIKoZIzj0EAwIw\n"
                              "GDEWMBQGA1UEAwwNd2luZGxhc3MtdGVzdDAeFw0yNjExMjEwNDE4MjZaFw0zNjEx\n"
                              "MTgwNDE4MjZaMBgxFjAUBgNVBAMMDXdpbmRsYXNzLXRlc3QwWTATBgcqhkjOPQIB\n"
                              "BggqhkjOPQMBBwNCAASpoiwyO1/dNsq+sGfpBd7j/8YSBPx9ujm38WY4sgf+Wg4I\n"
                              "+/3QxsLb7mpIpqAo9a4lei2x7DaSd4EXUQGvLYofo1MwUTAdBgNVHQ4EFgQUrxMG\n"
                              "7AHM4/1EVQpT/KYIzeHDidIwHwYDVR0jBBgwFoAUrxMG7AHM4/1EVQpT/KYIzeHD\n"
                              "idIwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAnLVA87sZvb1X\n"
                              "/VxTXo/4UFTaltyYqqbwkwmJ35vL2jYCIF9CeDyKt9cVYJ0X2JcrlRvRpSCmVj1X\n"
                              "tutsAUdzCMJP\n"
                              "-----END CERTIFICATE-----\n";
    struct error err = {0};
    char hex[65] = "";
    CHECK_OK(tls_certificate_sha256(pem, hex, &err), &err);
    CHECK_STR(hex, "8f3597b4c0f6e3478464b4c8cbfbd218ac66e200486bc13bf2f4e8b4f7cc0e7c");
}

static void test_a_certificate_and_the_key_of_another_are_refused(void) {
    AUTO(text_freep) char *first = NULL;
    AUTO(text_freep) char *first_key = NULL;
    AUTO(text_freep) char *second = NULL;
    AUTO(text_freep) char *second_key = NULL;
    struct error err = {0};
    CHECK_OK(tls_make_certificate(&first, &first_key, NULL, &err), &err);
    CHECK_OK(tls_make_certificate(&second, &second_key, NULL, &err), &err);
    CHECK_OK(tls_identity_check(first, first_key, &err), &err);
    CHECK_INT(tls_identity_check(first, second_key, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, "the private key is not that of the (first) certificate");
    err = (struct error){0};
    CHECK_INT(tls_identity_check("hello", first_key, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    err = (struct error){0};
    CHECK_INT(tls_identity_check(first, "hello", &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
}

static void test_bad_texts_are_refused(void) {
    static const char *const texts[] = {
        "",
        "hello",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n", /* a byte behind it */
        "-----BEGIN CERTIFICATE-----\nMAE=\n-----END CERTIFICATE-----\n", /* a byte is missing */
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        char hex[65];
        CHECK_INT(tls_certificate_sha256(texts[i], hex, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        err = (struct error){0};
        uint8_t *der = NULL;
        size_t size = 0;
        CHECK_INT(tls_pem_to_der(texts[i], true, &der, &size, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
}

static const char encrypted[] = "-----BEGIN CERTIFICATE-----\n"
                                "Proc-Type: 4,ENCRYPTED\n"
                                "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n"
                                "\n"
                                "AAAAAAAAAAAAAAAAAAAAAA==\n"
                                "-----END CERTIFICATE-----\n";

/* OpenSSL asks on the terminal, or without one reads standard input. */
static void test_nobody_is_asked_for_a_password(void) {
    static const char typed[] = "secret\n";
    struct error err = {0};
    int ends[2], left = 0;
    (void)setsid();
    CHECK_INT(pipe(ends), 0);
    CHECK_INT(write(ends[1], typed, strlen(typed)), (int)strlen(typed));
    CHECK_INT(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    char hex[65];
    uint8_t *der = NULL;
    size_t size = 0;
    CHECK_INT(tls_certificate_sha256(encrypted, hex, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    err = (struct error){0};
    CHECK_INT(tls_pem_to_der(encrypted, false, &der, &size, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_INT(ioctl(STDIN_FILENO, FIONREAD, &left), 0);
    CHECK_INT(left, (int)strlen(typed)); /* nothing was read */
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    TEST(test_a_made_certificate_belongs_to_its_key);
    TEST(test_two_certificates_differ);
    TEST(test_the_digest_is_the_one_openssl_prints);
    TEST(test_a_certificate_and_the_key_of_another_are_refused);
    TEST(test_bad_texts_are_refused);
    TEST(test_nobody_is_asked_for_a_password);
    return TEST_END();
}
