/* published_cache.h: files of published.c by their SHA-256, kept for the next process of this node
 * or machine: in $XDG_CACHE_HOME/windlass/models or ~/.cache/windlass/models, at most 16 files. In
 * a pod XDG_CACHE_HOME names a folder of a volume; without one that can be written nothing is kept.
 * Nothing in it is trusted: what is taken is copied, and the copy's digest is checked. */
#pragma once

#include "lib/error.h"

#define PUBLISHED_BYTES_MAX ((int64_t)64 << 30) /* of one file */

struct published_cache {
    int folder_fd; /* -1: nothing is kept */
    int lock_fd;   /* -1: no lock is held */
};

/* Opens the cache, if there is one, and waits for another process that fetches the same file, at
 * most 30 minutes: then it is fetched twice. */
void published_cache_open(const char *sha256, struct published_cache *ret_cache);
void published_cache_close(struct published_cache *cache); /* also for AUTO */

/* Copies the file to fd. False: it is not there, or was damaged and is gone now; fd is empty. */
bool published_cache_take(const struct published_cache *cache, const char *sha256, int fd);
/* Keeps a copy of fd's file, whose digest has been checked. What fails only costs time later. */
void published_cache_keep(const struct published_cache *cache, const char *sha256, int fd);
