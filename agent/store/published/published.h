/* published.h: a file that is read from where it was published, once per run and node: a model.
 *
 *   https://HOST/path/model.onnx            with the file's SHA-256 beside it in the spec
 *   oci://REGISTRY/NAME:TAG[/FILE]          an artifact of a registry (ORAS, or ModelPack with raw
 *   oci://REGISTRY/NAME@sha256:HEX[/FILE]   layers). FILE: the layer of that title; without it the
 *                                           only one, or the only one named *.onnx
 *
 * Reading is by TLS alone, by WINDLASS_AUTHORITIES or this machine's authorities, through the proxy
 * of HTTPS_PROXY but for the hosts of NO_PROXY; at most 5 redirects are followed, none to a
 * link-local address. A registry's credentials are the `auth` of its entry in
 * $DOCKER_CONFIG/config.json or ~/.docker/config.json, and go to no other host but the token
 * service that the registry names. Every error begins with the path and is one line. Blocks. */
#pragma once

#include "lib/error.h"

/* True for https:// and oci://. Pure. */
bool published_is(const char *path);

/* The path with the digest of what it leads to now: https://...#sha256=HEX, without a request, or
 * oci://REGISTRY/NAME@sha256:HEX[/FILE], for which a tag is resolved. sha256: 64 hexadecimal
 * digits, which https:// needs and oci:// must not have; NULL: none. The caller frees.
 * INVALID: the path or digest; NOT_FOUND: no such tag; DENIED: the registry refuses;
 * UNAVAILABLE, TIMEOUT: no answer. */
NODISCARD int published_pin(const char *path, const char *sha256, char **ret_pinned,
                            struct error *err);

/* The file's name, "model.onnx", of such a path, pinned or not. The caller frees. Pure. */
char *published_name(const char *path);

/* Writes the file to fd, which is empty and open for reading and writing. Only when it returns 0
 * fd has all of the file, of the right digest. It is taken from this node's cache, or put there
 * (published_cache.h). pinned: as of published_pin. INVALID: the digest differs; else as
 * published_pin. */
NODISCARD int published_fetch(const char *pinned, int fd, struct error *err);
