// SPDX-License-Identifier: Apache-2.0
#include "lib/net/tls.h"

#include "lib/digest.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

/* The first call to OpenSSL decides. Children would inherit a variable (OPENSSL_CONF). */
void tls_ignore_configuration(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

static void x509_freep(X509 **certificate) {
    X509_free(*certificate);
}

static void key_freep(EVP_PKEY **key) {
    EVP_PKEY_free(*key);
}

static void bio_freep(BIO **bio) {
    BIO_free(*bio);
}

static int error_from_openssl(struct error *err, enum error_kind kind, const char *what) {
    char reason[160] = "no reason given";
    unsigned long code = ERR_get_error();
    if (code) {
        ERR_error_string_n(code, reason, sizeof reason);
    }
    ERR_clear_error();
    return error_set(err, kind, "%s: %s", what, reason);
}

static bool add_extension(X509 *certificate, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool added = extension && X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

/* Like X509_set_pubkey, which also decodes the key it has just encoded: half of the time of making
 * a certificate. */
static bool set_public_key(X509 *certificate, EVP_PKEY *key) {
    unsigned char *point = NULL;
    size_t size = EVP_PKEY_get1_encoded_public_key(key, &point);
    if (size && X509_PUBKEY_set0_param(X509_get_X509_PUBKEY(certificate),
                                       OBJ_nid2obj(NID_X9_62_id_ecPublicKey), V_ASN1_OBJECT,
                                       OBJ_nid2obj(NID_X9_62_prime256v1), point, (int)size)) {
        return true; /* the certificate owns the point now */
    }
    OPENSSL_free(point);
    return false;
}

static bool fill_in(X509 *certificate, EVP_PKEY *key) {
    enum { YEARS_10_DAYS = 3653 };
    uint64_t serial = 0;
    X509_NAME *name = X509_get_subject_name(certificate);
    return RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
           X509_set_version(certificate, 2) && /* 2 means version 3 */
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1 | 1) &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) &&
           X509_time_adj_ex(X509_getm_notAfter(certificate), YEARS_10_DAYS, 0, NULL) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"windlass",
                                      -1, -1, 0) &&
           X509_set_issuer_name(certificate, name) && set_public_key(certificate, key) &&
           add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(certificate, NID_key_usage, "critical,digitalSignature") &&
           add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
           add_extension(certificate, NID_subject_alt_name, "IP:127.0.0.1") &&
           X509_sign(certificate, key, EVP_sha256());
}

static void openssl_freep(unsigned char **data) {
    OPENSSL_free(*data);
}

static char *bio_text(BIO *bio) {
    char *data = NULL;
    long size = BIO_get_mem_data(bio, &data);
    return x_strndup(data, (size_t)size);
}

/* The DER form of a P-256 key as PKCS #8 (RFC 5208, 5915): fixed but for the number and the point.
 */
static const unsigned char key_before[] = {0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06,
                                           0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
                                           0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
                                           0x04, 0x6d, 0x30, 0x6b, 0x02, 0x01, 0x01, 0x04, 0x20};
static const unsigned char key_between[] = {0xa1, 0x44, 0x03, 0x42, 0x00};
enum { NUMBER_BYTES = 32, POINT_BYTES = 65 };

static void bignum_freep(BIGNUM **number) {
    BN_clear_free(*number);
}

/* Like PEM_write_bio_PKCS8PrivateKey, which spends a third of the time of making a certificate on
 * finding the encoder. */
static bool write_key(BIO *bio, EVP_PKEY *key) {
    unsigned char der[sizeof key_before + NUMBER_BYTES + sizeof key_between + POINT_BYTES];
    unsigned char *number_at = der + sizeof key_before;
    unsigned char *point_at = number_at + NUMBER_BYTES + sizeof key_between;
    AUTO(bignum_freep) BIGNUM *number = NULL;
    size_t size = 0;
    memcpy(der, key_before, sizeof key_before);
    memcpy(number_at + NUMBER_BYTES, key_between, sizeof key_between);
    bool is_written = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number) &&
                      BN_bn2binpad(number, number_at, NUMBER_BYTES) == NUMBER_BYTES &&
                      EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY,
                                                      point_at, POINT_BYTES, &size) &&
                      size == POINT_BYTES &&
                      PEM_write_bio(bio, PEM_STRING_PKCS8INF, "", der, sizeof der);
    OPENSSL_cleanse(der, sizeof der);
    return is_written;
}

int tls_make_certificate(char **ret_certificate_pem, char **ret_key_pem, char *ret_sha256,
                         struct error *err) {
    AUTO(key_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
    AUTO(x509_freep) X509 *certificate = X509_new();
    AUTO(bio_freep) BIO *certificate_text = BIO_new(BIO_s_mem());
    AUTO(bio_freep) BIO *key_text = BIO_new(BIO_s_secmem());
    if (!key || !certificate || !certificate_text || !key_text || !fill_in(certificate, key) ||
        !PEM_write_bio_X509(certificate_text, certificate) || !write_key(key_text, key)) {
        return error_from_openssl(err, ERROR_BUG, "cannot make a certificate");
    }
    AUTO(openssl_freep) unsigned char *der = NULL;
    int size = ret_sha256 ? i2d_X509(certificate, &der) : 0;
    if (size < 0) {
        return error_from_openssl(err, ERROR_BUG, "cannot make a certificate");
    }
    if (ret_sha256) {
        digest_sha256(der, (size_t)size, ret_sha256);
    }
    *ret_certificate_pem = bio_text(certificate_text);
    *ret_key_pem = bio_text(key_text);
    return 0;
}

/* So that OpenSSL does not ask for one on the terminal when a block is encrypted. */
#define NO_PASSWORD ""

static const char too_large[] = "the PEM text is larger than %d bytes";
static const char no_certificate[] = "no PEM certificate in the text";

int tls_pem_to_der(const char *pem, bool private_key, uint8_t **ret_der, size_t *ret_size,
                   struct error *err) {
    size_t length = strnlen(pem, TLS_PEM_MAX + 1);
    if (length > TLS_PEM_MAX) {
        return error_set(err, ERROR_INVALID, too_large, TLS_PEM_MAX);
    }
    AUTO(bio_freep) BIO *text = BIO_new_mem_buf(pem, (int)length);
    char none[] = NO_PASSWORD;
    unsigned char *der = NULL;
    int size = -1;
    if (private_key) {
        AUTO(key_freep) EVP_PKEY *key = PEM_read_bio_PrivateKey(text, NULL, NULL, none);
        size = key ? i2d_PrivateKey(key, &der) : -1;
    } else {
        AUTO(x509_freep) X509 *certificate = PEM_read_bio_X509(text, NULL, NULL, none);
        size = certificate ? i2d_X509(certificate, &der) : -1;
    }
    if (size <= 0) {
        return error_from_openssl(err, ERROR_INVALID,
                                  private_key ? "no PEM private key in the text" : no_certificate);
    }
    uint8_t *copy = x_malloc((size_t)size);
    memcpy(copy, der, (size_t)size);
    OPENSSL_clear_free(der, (size_t)size);
    *ret_der = copy;
    *ret_size = (size_t)size;
    return 0;
}

/* One value of ASN.1, a sequence, as a certificate is, and nothing behind it. */
static bool is_sequence(const unsigned char *der, long size) {
    const unsigned char *at = der;
    long length = 0;
    int tag = 0, class = 0;
    return ASN1_get_object(&at, &length, &tag, &class, size) == V_ASN1_CONSTRUCTED &&
           tag == V_ASN1_SEQUENCE && at + length == der + size;
}

/* Not by tls_pem_to_der, which decodes the certificate with its key: that takes thirty times as
 * long, and a controller asks this for each job that runs, once a second. */
int tls_certificate_sha256(const char *pem, char hex[static 65], struct error *err) {
    size_t length = strnlen(pem, TLS_PEM_MAX + 1);
    if (length > TLS_PEM_MAX) {
        return error_set(err, ERROR_INVALID, too_large, TLS_PEM_MAX);
    }
    AUTO(bio_freep) BIO *text = BIO_new_mem_buf(pem, (int)length);
    AUTO(openssl_freep) unsigned char *der = NULL;
    char none[] = NO_PASSWORD;
    long size = 0;
    if (PEM_bytes_read_bio(&der, &size, NULL, PEM_STRING_X509, text, NULL, none) != 1 ||
        !is_sequence(der, size)) {
        return error_from_openssl(err, ERROR_INVALID, no_certificate);
    }
    digest_sha256(der, (size_t)size, hex);
    return 0;
}
