/* notice_cloud.h: what the metadata service of each cloud is asked, and what its answers mean.
 * Pure. The service has one address in all of them, so notice.c asks as each cloud's guests do
 * until one way is answered. Sources: notice_read.h for Azure; Amazon's documentation of "Spot
 * Instance interruption notices" and of version 2 of its metadata service; Google's of "Handle Spot
 * VMs preemption". Amazon gives two minutes, Azure and Google 30 s. */
#pragma once

#include "agent/launch/pod/notice_read.h"

enum {
    NOTICE_CLOUDS = 3,
    NOTICE_KEY_MAX = 256,     /* bytes */
    NOTICE_GOOGLE_MS = 25000, /* of Google's 30 s, since it says no time */
};

struct notice_ask {
    const char *method; /* NULL: GET */
    const char *path;   /* NULL: no such request; of Azure's events: as in WINDLASS_EVENTS */
    const char *header; /* "NAME: value", or "NAME: " for the key */
};

/* An answer that is borrowed, or no status: 0. */
struct notice_answer {
    int status;
    const char *body;
    size_t size;
};

struct notice_cloud {
    const char *name;
    struct notice_ask first;  /* its answer is the key: this machine's name, or a token */
    struct notice_ask events; /* asked again and again */
    bool sends_key;           /* the events' header ends with the key */
    int key_is_over;          /* the status of an answer that wants another key; 0: none */
    /* As notice_read. -1: UNAVAILABLE: an unexpected status; INVALID: not what this cloud says. */
    int (*read)(const struct notice_answer *answer, const char *key, int64_t now_wall_ms,
                struct notice_event *ret_event, struct error *err);
};
extern const struct notice_cloud notice_clouds[NOTICE_CLOUDS];

/* True: another cloud's service, or none, answers so. */
bool notice_is_elsewhere(int status);
/* Takes the answer to `first`, without white space at its end. -1 with INVALID: it is too long, or
 * has characters that no name and no token has. */
NODISCARD int notice_read_key(const struct notice_answer *answer, char ret_key[NOTICE_KEY_MAX + 1],
                              struct error *err);
