/* envelope.h: OUTPUT/result.intoto.jsonl: a signed statement about an output. One line, a DSSE
 * envelope (secure-systems-lab/dsse, protocol 1.0.2) with a statement of in-toto (v1):
 *
 *     {"payload": BASE64, "payloadType": "application/vnd.in-toto+json",
 *      "signatures": [{"keyid": "3c9f...", "sig": BASE64}]}
 *     payload: {"_type": "https://in-toto.io/Statement/v1",
 *               "subject": [{"name": "result.json", "digest": {"sha256": "..."}}, ...],
 *               "predicateType": "https://windlass.dev/result/v1", "predicate": {...}}
 *
 * Subjects are result.json, each file of "outputs", and outputs.jsonl; the predicate is result.json
 * without its lists of files. keyid is SHA-256 of the public key (DER). A file may have more lines:
 * statements that others have added. Pure; the text comes from a storage that others can write. */
#pragma once

#include "lib/signature.h"
#include "lib/tree.h"

enum { ENVELOPE_BYTES_MAX = 16 << 20, ENVELOPE_LINES_MAX = 64, ENVELOPE_SIGNATURES_MAX = 16 };

/* The line with its newline; owned by the caller. text: result.json's bytes, and result the same,
 * parsed. */
char *envelope_make(const char *text, size_t size, const json_t *result,
                    const struct signature_key *key);

/* 0: one line has a signature of this key, and states that result.json has this SHA-256 (hex).
 * FAILED: no line does; the error says why, for the line that comes closest. */
NODISCARD int envelope_check(const char *text, size_t size, const struct signature_key *key,
                             const char *result_sha256, struct error *err);
