/* resource_key.h: names a resource of the cluster: kind, namespace and name. Queues and maps hold
 * keys as text, "BatchScore team-a/paint": no part can contain a space or a slash. */
#pragma once

#include "lib/tree.h"

struct resource_key {
    const char *kind, *namespace, *name; /* borrowed from text */
    char *text;                          /* owned */
};

/* "Kind namespace/name"; the caller frees it. */
char *resource_key_format(const char *kind, const char *namespace, const char *name);
/* The same, of an object; without a namespace it is in "default". */
char *resource_key_of_object(const json_t *object);
/* The parts of a text that resource_key_format made; the text is copied. */
struct resource_key resource_key_parse(const char *text);
void resource_key_release(struct resource_key *key); /* for AUTO, too */
