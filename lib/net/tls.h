/* tls.h: self-signed certificates: the operator makes one per job for its coordinator, and workers
 * trust it by its SHA-256 alone (no authority, no names). Uses OpenSSL's X509 and EVP. */
#pragma once

#include "lib/error.h"

/* Keeps OpenSSL from reading a configuration file. Call it first in main of a program that runs in
 * users' images. */
void tls_ignore_configuration(void);

enum { TLS_PEM_MAX = 64 << 10 }; /* bytes of a certificate or key text */

/* A new EC P-256 key and a certificate signed with it: valid from an hour ago (clocks differ) for
 * ten years, for server use only, subject "windlass", alternative name 127.0.0.1. Both results are
 * PEM texts; the caller frees; the key is a secret. ret_sha256 may be NULL; else 65 bytes for the
 * digest that tls_certificate_sha256 would return. */
NODISCARD int tls_make_certificate(char **ret_certificate_pem, char **ret_key_pem, char *ret_sha256,
                                   struct error *err);

/* Lower-case hexadecimal SHA-256 of the DER form of the first certificate in the PEM text. INVALID:
 * there is none, or the text is larger than TLS_PEM_MAX. What is inside it is not looked at. */
NODISCARD int tls_certificate_sha256(const char *pem, char hex[static 65], struct error *err);

/* The DER form of the first certificate (private_key = false) or private key in the PEM text; the
 * caller frees *ret_der. INVALID: there is none, or the text is larger than TLS_PEM_MAX. */
NODISCARD int tls_pem_to_der(const char *pem, bool private_key, uint8_t **ret_der, size_t *ret_size,
                             struct error *err);
