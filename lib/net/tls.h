/* tls.h: the certificate of one job's coordinator: made by the operator, given to the coordinator,
 * and trusted by its SHA-256 alone (no authority, no names). OpenSSL's X509 and EVP. */
#pragma once

#include "lib/error.h"

/* OpenSSL reads no configuration file in this process. First thing in main: for a program that runs
 * among files which are none of its own. */
void tls_ignore_configuration(void);

enum { TLS_PEM_MAX = 64 << 10 }; /* bytes of a certificate or key text */

/* A new EC P-256 key and a certificate signed with it: valid from an hour ago (clocks differ) for
 * ten years, for server use only, subject "windlass", alternative name 127.0.0.1. Both results are
 * PEM texts the caller frees; the key is a secret. ret_sha256 (may be NULL): 65 bytes for the
 * certificate's SHA-256 in hex, as tls_certificate_sha256 gives it. */
NODISCARD int tls_make_certificate(char **ret_certificate_pem, char **ret_key_pem, char *ret_sha256,
                                   struct error *err);

/* Lower-case hexadecimal SHA-256 of the DER form of the first certificate in the PEM text. */
NODISCARD int tls_certificate_sha256(const char *pem, char hex[static 65], struct error *err);

/* The DER form of the first certificate (private_key = false) or private key in the PEM text; the
 * caller frees *ret_der. Fails with ERROR_INVALID when there is none. */
NODISCARD int tls_pem_to_der(const char *pem, bool private_key, uint8_t **ret_der, size_t *ret_size,
                             struct error *err);
