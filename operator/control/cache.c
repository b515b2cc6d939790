// SPDX-License-Identifier: Apache-2.0
#include "operator/control/cache.h"

#include "lib/tree_read.h"
#include "operator/control/claim.h"
#include "operator/object.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    KINDS_MAX = 16,
    BUCKETS_FIRST = 64,
    TREES_MAX = 128, /* of some 30 jobs; a tree is ten times as large as its text */
};

/* One object: a single allocation, linked into one chain of each table. */
struct entry {
    struct entry *next_by_id, *next_by_job;
    uint64_t version; /* resourceVersion */
    uint64_t change;  /* number of the change that stored it */
    uint32_t id_hash, job_hash, uid_hash;
    uint32_t list;                     /* number of the last list that contained it */
    uint32_t name_at, job_at, tree_at; /* in texts; the namespace is at 0 */
    uint32_t size;                     /* of texts */
    uint16_t tree;                     /* 1 + its index in the cache's trees; 0: not among them */
    uint8_t kind;
    char texts[];
};

struct cached_kind {
    char *api_version, *name;
    struct cache_rules rules;
    uint32_t list;   /* number of the current list */
    uint64_t listed; /* version of the last complete list */
    bool is_listed, is_absent;
};

/* What was read lately; the next one replaces the oldest. */
struct parsed {
    struct entry *of; /* NULL: free */
    json_t *tree;
};

struct cache {
    struct parsed trees[TREES_MAX];
    size_t next_tree, tree_count;
    struct cached_kind kinds[KINDS_MAX];
    size_t kind_count;
    struct entry **by_id, **by_job; /* chains; an entry without a job is not in by_job */
    size_t bucket_count;            /* of each table, a power of two */
    size_t count, bytes;
    uint64_t changes; /* how many objects were stored so far */
};

static void forget_tree(struct cache *cache, struct entry *entry) {
    if (entry->tree) {
        struct parsed *parsed = &cache->trees[entry->tree - 1];
        json_decref(parsed->tree);
        *parsed = (struct parsed){0};
        entry->tree = 0;
        cache->tree_count--;
    }
}

void cache_forget_trees(struct cache *cache) {
    for (size_t i = 0; i < TREES_MAX && cache->tree_count > 0; i++) {
        if (cache->trees[i].of) {
            forget_tree(cache, cache->trees[i].of);
        }
    }
}

static void keep_tree(struct cache *cache, struct entry *entry, json_t *tree) {
    struct parsed *parsed = &cache->trees[cache->next_tree];
    if (parsed->of) {
        forget_tree(cache, parsed->of);
    }
    *parsed = (struct parsed){entry, json_incref(tree)};
    entry->tree = (uint16_t)++cache->next_tree;
    cache->next_tree %= TREES_MAX;
    cache->tree_count++;
}

struct cache *cache_new(void) {
    struct cache *cache = x_calloc(1, sizeof *cache);
    cache->bucket_count = BUCKETS_FIRST;
    cache->by_id = x_calloc(BUCKETS_FIRST, sizeof(struct entry *));
    cache->by_job = x_calloc(BUCKETS_FIRST, sizeof(struct entry *));
    return cache;
}

void cache_free(struct cache *cache) {
    if (!cache) {
        return;
    }
    cache_forget_trees(cache);
    for (size_t i = 0; i < cache->bucket_count; i++) {
        for (struct entry *entry = cache->by_id[i], *next; entry; entry = next) {
            next = entry->next_by_id;
            free(entry);
        }
    }
    for (size_t i = 0; i < cache->kind_count; i++) {
        free(cache->kinds[i].api_version);
        free(cache->kinds[i].name);
    }
    free(cache->by_id);
    free(cache->by_job);
    free(cache);
}

void cache_watch(struct cache *cache, const char *api_version, const char *kind,
                 struct cache_rules rules) {
    assert(cache->kind_count < KINDS_MAX);
    cache->kinds[cache->kind_count++] = (struct cached_kind){
        .api_version = x_strdup(api_version), .name = x_strdup(kind), .rules = rules};
}

bool cache_is_complete(const struct cache *cache) {
    for (size_t i = 0; i < cache->kind_count; i++) {
        if (!cache->kinds[i].is_listed) {
            return false;
        }
    }
    return true;
}

static struct cached_kind *find_kind(const struct cache *cache, const char *name) {
    for (size_t i = 0; i < cache->kind_count; i++) {
        if (strcmp(cache->kinds[i].name, name) == 0) {
            return (struct cached_kind *)&cache->kinds[i];
        }
    }
    return NULL;
}

static uint8_t index_of(const struct cache *cache, const struct cached_kind *kind) {
    return (uint8_t)(kind - cache->kinds);
}

/* FNV-1a. */
static uint32_t hash_text(uint32_t hash, const char *text) {
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    }
    return (hash ^ 0xff) * 16777619u; /* "ab" "c" and "a" "bc" differ */
}

static uint32_t hash_of(uint8_t kind, const char *namespace, const char *name) {
    return hash_text(hash_text(2166136261u + kind, namespace), name);
}

static const char *namespace_of(const json_t *object) {
    return tree_text(object, "metadata.namespace", "default");
}

static const char *name_of(const json_t *object) {
    return tree_text(object, "metadata.name", "");
}

/* The label's key has dots, so tree_text cannot reach it. */
static const char *job_of(const json_t *object) {
    const json_t *label = json_object_get(tree_get(object, "metadata.labels"), LABEL_JOB);
    return json_is_string(label) ? json_string_value(label) : "";
}

static bool is_at(const struct entry *entry, uint8_t kind, const char *namespace,
                  const char *name) {
    return entry->kind == kind && strcmp(entry->texts, namespace) == 0 &&
           strcmp(entry->texts + entry->name_at, name) == 0;
}

/* The pointer that links the entry; *result is NULL when there is none. */
static struct entry **find_link(const struct cache *cache, uint8_t kind, const char *namespace,
                                const char *name) {
    uint32_t hash = hash_of(kind, namespace, name);
    struct entry **link = &cache->by_id[hash & (cache->bucket_count - 1)];
    while (*link && !((*link)->id_hash == hash && is_at(*link, kind, namespace, name))) {
        link = &(*link)->next_by_id;
    }
    return link;
}

static void chain(struct cache *cache, struct entry *entry) {
    struct entry **by_id = &cache->by_id[entry->id_hash & (cache->bucket_count - 1)];
    entry->next_by_id = *by_id;
    *by_id = entry;
    if (entry->texts[entry->job_at]) {
        struct entry **by_job = &cache->by_job[entry->job_hash & (cache->bucket_count - 1)];
        entry->next_by_job = *by_job;
        *by_job = entry;
    }
}

static void grow(struct cache *cache) {
    struct entry **old = cache->by_id;
    size_t old_count = cache->bucket_count;
    cache->bucket_count *= 2;
    free(cache->by_job);
    cache->by_id = x_calloc(cache->bucket_count, sizeof(struct entry *));
    cache->by_job = x_calloc(cache->bucket_count, sizeof(struct entry *));
    for (size_t i = 0; i < old_count; i++) {
        for (struct entry *entry = old[i], *next; entry; entry = next) {
            next = entry->next_by_id;
            chain(cache, entry);
        }
    }
    free(old);
}

/* Removes it from the tables; the caller frees it. */
static struct entry *unlink_entry(struct cache *cache, struct entry **link) {
    struct entry *entry = *link;
    *link = entry->next_by_id;
    forget_tree(cache, entry);
    if (entry->texts[entry->job_at]) {
        struct entry **by_job = &cache->by_job[entry->job_hash & (cache->bucket_count - 1)];
        while (*by_job != entry) {
            by_job = &(*by_job)->next_by_job;
        }
        *by_job = entry->next_by_job;
    }
    cache->count--;
    cache->bytes -= sizeof *entry + entry->size;
    return entry;
}

/* 0: it has none. */
static uint64_t version_of(const json_t *object) {
    return strtoull(tree_text(object, "metadata.resourceVersion", ""), NULL, 10);
}

/* Removes the fields that the key has already. */
static json_t *strip(const json_t *object, cache_transform *transform) {
    static const char *const known[] = {"name", "namespace", "resourceVersion", "managedFields"};
    json_t *kept = transform ? transform(object) : json_copy((json_t *)object);
    json_t *metadata = json_copy(json_object_get(kept, "metadata"));
    json_t *labels = json_copy(json_object_get(metadata, "labels"));
    json_object_del(kept, "apiVersion");
    json_object_del(kept, "kind");
    json_object_set(kept, SCHEMA_FILLED, json_object_get(object, SCHEMA_FILLED));
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        json_object_del(metadata, known[i]);
    }
    json_object_del(labels, LABEL_JOB);
    json_object_del(metadata, "labels");
    if (json_object_size(labels) > 0) {
        json_object_set(metadata, "labels", labels);
    }
    json_decref(labels);
    json_object_set_new(kept, "metadata", metadata);
    return kept;
}

/* *ret_kept: what it has of the object; owned by the caller. */
static struct entry *entry_new(const struct cache *cache, const struct cached_kind *kind,
                               const json_t *object, cache_transform *transform,
                               json_t **ret_kept) {
    const char *namespace = namespace_of(object), *name = name_of(object), *job = job_of(object);
    json_t *kept = strip(object, transform);
    size_t name_at = strlen(namespace) + 1, job_at = name_at + strlen(name) + 1,
           tree_at = job_at + strlen(job) + 1;
    AUTO(text_freep) char *text = tree_compact(kept);
    size_t room = strlen(text);
    struct entry *entry = x_malloc(sizeof *entry + tree_at + room);
    uint8_t index = index_of(cache, kind);
    *entry = (struct entry){
        .version = version_of(object),
        .id_hash = hash_of(index, namespace, name),
        .job_hash = hash_of(index, namespace, job),
        .uid_hash = hash_text(0, tree_text(object, "metadata.uid", "")),
        .list = kind->list,
        .name_at = (uint32_t)name_at,
        .job_at = (uint32_t)job_at,
        .tree_at = (uint32_t)tree_at,
        .size = (uint32_t)(tree_at + room),
        .kind = index,
    };
    memcpy(entry->texts, namespace, name_at);
    memcpy(entry->texts + name_at, name, job_at - name_at);
    memcpy(entry->texts + job_at, job, tree_at - job_at);
    memcpy(entry->texts + tree_at, text, room);
    *ret_kept = kept;
    return entry;
}

/* Adds what `strip` took off. object, its metadata and labels are not shared. */
static void complete(const struct cache *cache, const struct entry *entry, json_t *object) {
    const struct cached_kind *kind = &cache->kinds[entry->kind];
    json_t *metadata = json_object_get(object, "metadata");
    json_object_set_new(metadata, "name", json_string(entry->texts + entry->name_at));
    json_object_set_new(metadata, "namespace", json_string(entry->texts));
    if (entry->version > 0) {
        json_object_set_new(metadata, "resourceVersion",
                            json_sprintf("%llu", (unsigned long long)entry->version));
    }
    if (entry->texts[entry->job_at]) {
        json_t *labels = json_object_get(metadata, "labels");
        if (!labels) {
            labels = json_object();
            json_object_set_new(metadata, "labels", labels);
        }
        json_object_set_new(labels, LABEL_JOB, json_string(entry->texts + entry->job_at));
    }
    json_object_set_new(object, "apiVersion", json_string(kind->api_version));
    json_object_set_new(object, "kind", json_string(kind->name));
}

static json_t *parse_entry(const struct cache *cache, const struct entry *entry) {
    json_t *object = tree_load(entry->texts + entry->tree_at, entry->size - entry->tree_at, NULL);
    assert(object); /* the text was written by us */
    complete(cache, entry, object);
    return object;
}

/* A reconcile pass reads most objects several times, and the next pass reads them again. */
static json_t *read_entry(const struct cache *cache, const struct entry *entry) {
    if (entry->tree) {
        return json_incref(cache->trees[entry->tree - 1].tree);
    }
    json_t *tree = parse_entry(cache, entry);
    keep_tree((struct cache *)cache, (struct entry *)entry, tree);
    return tree;
}

/* The answer to a write and the event of an earlier change may arrive in any order. */
static bool is_older(const json_t *object, const struct entry *known) {
    return hash_text(0, tree_text(object, "metadata.uid", "")) == known->uid_hash &&
           version_of(object) < known->version;
}

bool cache_has_version(struct cache *cache, const json_t *object) {
    const struct cached_kind *kind = find_kind(cache, tree_text(object, "kind", ""));
    struct entry **link =
        kind ? find_link(cache, index_of(cache, kind), namespace_of(object), name_of(object))
             : NULL;
    if (!link || !*link || version_of(object) == 0 || version_of(object) != (*link)->version ||
        hash_text(0, tree_text(object, "metadata.uid", "")) != (*link)->uid_hash) {
        return false;
    }
    (*link)->list = kind->list;
    return true;
}

static void replace(struct cache *cache, struct entry **link, struct entry *entry) {
    if (*link) {
        free(unlink_entry(cache, link));
    }
    if (cache->count >= cache->bucket_count) {
        grow(cache);
    }
    entry->change = ++cache->changes;
    chain(cache, entry);
    cache->count++;
    cache->bytes += sizeof *entry + entry->size;
}

void cache_put(struct cache *cache, const json_t *object) {
    const struct cached_kind *kind = find_kind(cache, tree_text(object, "kind", ""));
    if (!kind) {
        return;
    }
    struct entry **link =
        find_link(cache, index_of(cache, kind), namespace_of(object), name_of(object));
    if (*link && is_older(object, *link)) {
        (*link)->list = kind->list;
        return;
    }
    AUTO(tree_freep)
    json_t *filled = kind->rules.schema ? schema_filled(kind->rules.schema, object) : NULL;
    AUTO(tree_freep) json_t *kept = NULL;
    struct entry *entry =
        entry_new(cache, kind, filled ? filled : object, kind->rules.transform, &kept);
    replace(cache, link, entry);
    complete(cache, entry, kept);
    keep_tree(cache, entry, kept); /* it is read soon */
}

void cache_reduce(struct cache *cache, const json_t *object, cache_transform *transform) {
    const struct cached_kind *kind = find_kind(cache, tree_text(object, "kind", ""));
    struct entry **link =
        kind ? find_link(cache, index_of(cache, kind), namespace_of(object), name_of(object))
             : NULL;
    if (!link || !*link) {
        return;
    }
    AUTO(tree_freep) json_t *kept = NULL;
    struct entry *entry = entry_new(cache, kind, object, transform, &kept);
    if (entry->size < (*link)->size) {
        replace(cache, link, entry);
    } else {
        free(entry);
    }
}

/* With a uid only the object that has it: another one of its name may be stored already, from the
 * answer to its creation. */
static void drop(struct cache *cache, const json_t *object) {
    const struct cached_kind *kind = find_kind(cache, tree_text(object, "kind", ""));
    const char *uid = tree_text(object, "metadata.uid", "");
    struct entry **link =
        kind ? find_link(cache, index_of(cache, kind), namespace_of(object), name_of(object))
             : NULL;
    if (link && *link && (!*uid || hash_text(0, uid) == (*link)->uid_hash)) {
        free(unlink_entry(cache, link));
    }
}

/* The list does not contain it, and is not older than it. version: of the list; 0: not known. */
static bool is_gone(const struct entry *entry, const struct cached_kind *kind, uint64_t version) {
    return entry->list != kind->list && (version == 0 || entry->version <= version);
}

/* Removes the objects that the list does not contain: they were deleted while the watch was
 * interrupted. What was created meanwhile may be newer than the list; but when lists go back in
 * versions, etcd was restored from a backup, and newer objects are from before the restore. */
static void end_list(struct cache *cache, struct cached_kind *kind, const json_t *list,
                     cluster_listener *deleted, void *context) {
    AUTO(tree_freep) json_t *lost = json_array();
    uint64_t version = version_of(list);
    bool went_back = version < kind->listed;
    kind->listed = version;
    kind->is_listed = true;
    for (size_t i = 0; i < cache->bucket_count; i++) {
        for (struct entry **link = &cache->by_id[i]; *link;) {
            if ((*link)->kind == index_of(cache, kind) &&
                is_gone(*link, kind, went_back ? 0 : version)) {
                struct entry *entry = unlink_entry(cache, link);
                json_array_append_new(lost, parse_entry(cache, entry));
                free(entry);
            } else {
                link = &(*link)->next_by_id;
            }
        }
    }
    for (size_t i = 0; i < json_array_size(lost); i++) {
        deleted(context, CLUSTER_DELETED, json_array_get(lost, i));
    }
}

/* A server with an older definition knows the same objects under an older version. */
static void set_api_version(struct cache *cache, struct cached_kind *kind,
                            const char *api_version) {
    if (strcmp(kind->api_version, api_version) != 0) {
        cache_forget_trees(cache);
        free(kind->api_version);
        kind->api_version = x_strdup(api_version);
    }
}

void cache_update(struct cache *cache, enum cluster_event event, const json_t *object,
                  cluster_listener *deleted, void *context) {
    struct cached_kind *kind = find_kind(cache, tree_text(object, "kind", ""));
    switch (event) {
    case CLUSTER_APPLIED:
        cache_put(cache, object);
        break;
    case CLUSTER_DELETED:
        drop(cache, object);
        break;
    case CLUSTER_LISTING:
        if (kind) {
            set_api_version(cache, kind, tree_text(object, "apiVersion", kind->api_version));
            kind->list++;
        }
        break;
    case CLUSTER_ABSENT:
        if (kind) {
            kind->is_absent = true;
            kind->list++;
            end_list(cache, kind, object, deleted, context);
        }
        break;
    case CLUSTER_LISTED:
        if (kind) {
            kind->is_absent = false;
            end_list(cache, kind, object, deleted, context);
        }
        break;
    }
}

bool cache_is_absent(const struct cache *cache, const char *kind_name) {
    const struct cached_kind *kind = find_kind(cache, kind_name);
    return kind && kind->is_absent;
}

json_t *cache_find(const struct cache *cache, const char *kind_name, const char *namespace,
                   const char *name) {
    const struct cached_kind *kind = find_kind(cache, kind_name);
    struct entry **link = kind ? find_link(cache, index_of(cache, kind), namespace, name) : NULL;
    return link && *link ? read_entry(cache, *link) : NULL;
}

static int by_name(const void *a, const void *b) {
    const struct entry *one = *(struct entry *const *)a, *other = *(struct entry *const *)b;
    return strcmp(one->texts + one->name_at, other->texts + other->name_at);
}

/* The job's entries of that kind, sorted by name; the caller frees them. */
static struct entry **find_owned(const struct cache *cache, const struct cached_kind *kind,
                                 const json_t *owner, size_t *ret_count) {
    uint8_t index = index_of(cache, kind);
    const char *namespace = namespace_of(owner), *job = name_of(owner);
    uint32_t hash = hash_of(index, namespace, job);
    struct entry **found = NULL;
    size_t count = 0, room = 0;
    for (struct entry *entry = cache->by_job[hash & (cache->bucket_count - 1)]; entry;
         entry = entry->next_by_job) {
        if (entry->job_hash == hash && entry->kind == index &&
            strcmp(entry->texts, namespace) == 0 &&
            strcmp(entry->texts + entry->job_at, job) == 0) {
            if (count == room) {
                room = MAX(16, 2 * room);
                found = x_realloc_array(found, room, sizeof(struct entry *));
            }
            found[count++] = entry;
        }
    }
    if (count > 0) {
        qsort(found, count, sizeof(struct entry *), by_name);
    }
    *ret_count = count;
    return found;
}

json_t *cache_owned_since(const struct cache *cache, const char *kind_name, const json_t *owner,
                          uint64_t *mark, size_t *ret_labelled) {
    const struct cached_kind *kind = find_kind(cache, kind_name);
    json_t *owned = json_array();
    size_t count = 0;
    struct entry **found = kind ? find_owned(cache, kind, owner, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (found[i]->change <= *mark) {
            continue;
        }
        AUTO(tree_freep) json_t *object = read_entry(cache, found[i]);
        if (object_is_owned_by(object, tree_text(owner, "metadata.uid", ""))) {
            json_array_append(owned, object);
        }
    }
    free(found);
    *mark = cache->changes;
    *ret_labelled = count;
    return owned;
}

static bool is_made_for(const json_t *object, const json_t *owner) {
    const json_t *uid = json_object_get(tree_get(object, "metadata.annotations"), ANNOTATION_UID);
    return json_is_string(uid) &&
           strcmp(json_string_value(uid), tree_text(owner, "metadata.uid", "")) == 0;
}

json_t *cache_lost(const struct cache *cache, const char *kind_name, const json_t *owner,
                   uint64_t since) {
    const struct cached_kind *kind = find_kind(cache, kind_name);
    json_t *lost = json_array();
    size_t count = 0;
    struct entry **found = kind ? find_owned(cache, kind, owner, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (found[i]->change <= since) {
            continue;
        }
        AUTO(tree_freep) json_t *object = read_entry(cache, found[i]);
        if (json_array_size(tree_get(object, "metadata.ownerReferences")) == 0 &&
            is_made_for(object, owner)) {
            json_array_append(lost, object);
        }
    }
    free(found);
    return lost;
}

uint64_t cache_changes(const struct cache *cache) {
    return cache->changes;
}

json_t *cache_owned(const struct cache *cache, const char *kind_name, const json_t *owner) {
    uint64_t mark = 0;
    size_t count;
    return cache_owned_since(cache, kind_name, owner, &mark, &count);
}

size_t cache_count(const struct cache *cache) {
    return cache->count;
}

size_t cache_bytes(const struct cache *cache) {
    return cache->bytes + 2 * cache->bucket_count * sizeof(struct entry *);
}
