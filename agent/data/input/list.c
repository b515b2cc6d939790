// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/list.h"

#include "agent/data/input/fingerprint.h"
#include "agent/data/input/list_page.h"
#include "lib/digest.h"
#include "lib/log.h"
#include "lib/time/clock.h"
#include "lib/time/timed_wait.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_PAGE_LINES = 1000,
    PAGES_HELD = 4,
    WAIT_MS_MIN = 20,
    WAIT_MS_MAX = 5000,
    STORE_TIMEOUT_MS = 300000, /* how long the store may fail to accept a page */
};

struct cached_page {
    struct list_page page;
    uint64_t used; /* 0: empty */
};

/* Results of the thread, guarded by the lock. */
struct listing_progress {
    int64_t *firsts; /* the first line of each page */
    size_t pages, room;
    int64_t lines; /* lines of all these pages that are scored */
    int64_t all;   /* with those that are kept */
    struct list_counts counts;
    bool is_complete, has_ended;
    struct error err; /* why it ended before that */
};

struct list {
    struct list_options options;
    char *run, *folder, *scratch;
    pthread_t thread;
    bool has_thread;
    atomic_bool stops;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signals `stops` */
    struct listing_progress told;
    /* the caller's */
    int64_t lines; /* number that list_turn has returned */
    bool is_complete, has_failed;
    struct cached_page held[PAGES_HELD];
    uint64_t uses;
    /* used by the thread, and by list_open before it starts */
    struct list_writer writer;
    struct list_merge *merge; /* of a rerun, while it lists */
    char *cursor;             /* after the last page */
    int64_t skips;            /* lines to skip that are listed again, for want of a cursor */
    int64_t left_out;         /* by the listing, since the last line */
    int64_t page_started_ms;  /* when the page's first line came */
    bool is_overtaken;        /* another coordinator has stored a page: list again after it */
    bool cannot_store;        /* for this or another reason */
};

static char *page_name(const struct list *list, int64_t number) {
    return x_printf("%s/%08lld", list->folder, (long long)number);
}

/* Appends a page to the known ones. Called in the thread, or before it runs. */
static void add_page(struct list *list, const struct list_page *page) {
    struct listing_progress *told = &list->told;
    struct list_counts *sum = &told->counts;
    pthread_mutex_lock(&list->lock);
    if (told->pages == told->room) {
        told->room = MAX(2 * told->room, 64);
        told->firsts = x_realloc_array(told->firsts, told->room, sizeof *told->firsts);
    }
    told->firsts[told->pages++] = page->first;
    told->lines = page->first + (int64_t)page->count;
    told->all += (int64_t)page->line_count;
    told->is_complete = page->is_last;
    sum->kept += page->counts.kept;
    sum->added += page->counts.added;
    sum->changed += page->counts.changed;
    sum->again += page->counts.again;
    sum->removed += page->counts.removed;
    sum->left_out += page->counts.left_out;
    pthread_mutex_unlock(&list->lock);
    if (list->options.wake) {
        list->options.wake(list->options.context);
    }
}

/* ---- pages of the store --------------------------------------------------------------------- */

/* 1: read; 0: absent. */
static int fetch_page(struct list *list, int64_t number, struct list_page *ret_page,
                      struct error *err) {
    return list_reader_page(list->options.output, list->run, list->folder, number, ret_page, err);
}

/* Adopts a stored page. It must continue exactly where ours end; otherwise this is an error. */
static int adopt(struct list *list, struct list_page *page, struct error *err) {
    if (page->first != list->told.lines || list->told.is_complete) {
        AUTO(text_freep) char *name = page_name(list, page->number);
        return error_set(err, ERROR_INVALID, "%s/%s: does not continue the page before it",
                         store_path(list->options.output), name);
    }
    free(list->cursor);
    list->cursor = TAKE(page->cursor);
    add_page(list, page);
    return 0;
}

static int read_pages(struct list *list, struct error *err) {
    for (;;) {
        AUTO(list_page_release) struct list_page page = {0};
        int found = fetch_page(list, (int64_t)list->told.pages, &page, err);
        if (found <= 0) {
            return found;
        }
        if (adopt(list, &page, err) < 0) {
            return -1;
        }
    }
}

/* ---- storing, in the thread ----------------------------------------------------------------- */

static bool wait_ms(struct list *list, int64_t ms) {
    int64_t end_ms = clock_monotonic_ms() + ms;
    pthread_mutex_lock(&list->lock);
    while (!atomic_load(&list->stops) && timed_wait(&list->changed, &list->lock, end_ms)) {
    }
    pthread_mutex_unlock(&list->lock);
    return !atomic_load(&list->stops);
}

/* Reads the object of that name. 1: our bytes; 2: another coordinator's page, adopted; 0:
 * absent. */
static int read_back(struct list *list, const char *text, size_t size, struct error *err) {
    AUTO(list_page_release) struct list_page page = {0};
    int found = fetch_page(list, (int64_t)list->told.pages, &page, err);
    if (found <= 0) {
        return found;
    }
    if (strlen(page.text) == size && memcmp(page.text, text, size) == 0) {
        return 1;
    }
    return adopt(list, &page, err) < 0 ? -1 : 2;
}

/* 1: stored; 2: another has stored one; 0: not yet, for a cause that may be temporary; -1:
 * never. */
static int try_store(struct list *list, const char *name, const char *text, size_t size,
                     struct error *cause, struct error *err) {
    bool excludes = store_features(list->options.output).creates;
    int stored = store_put(list->options.output, name, text, size, STORE_CREATE, cause);
    if (stored == 0 && excludes) {
        return 1;
    }
    if (stored < 0 && (cause->kind == ERROR_INVALID || cause->kind == ERROR_DENIED)) {
        *err = *cause;
        return -1;
    }
    struct error ignored = {0};
    int found = read_back(list, text, size, &ignored);
    if (found < 0 && ignored.kind == ERROR_INVALID) {
        *err = ignored;
        return -1;
    }
    if (found <= 0 && !cause->kind) {
        *cause = ignored; /* it was stored, but cannot be read yet */
    }
    return MAX(found, 0);
}

static void count_removed(struct list *list) {
    if (list->merge) {
        list->writer.counts.removed += list->merge->removed;
        list->merge->removed = 0;
    }
}

static int store_page(struct list *list, bool is_last, struct error *err) {
    count_removed(list);
    list->cannot_store = true; /* until a page is stored */
    size_t size = 0;
    int64_t number = (int64_t)list->told.pages, start_ms = clock_monotonic_ms();
    AUTO(text_freep) char *name = page_name(list, number);
    const struct listing_progress *told = &list->told;
    AUTO(text_freep)
    char *text = list_writer_text(&list->writer, list->run, number, told->lines, is_last, &size);
    for (int64_t pause_ms = WAIT_MS_MIN;; pause_ms = MIN(2 * pause_ms, (int64_t)WAIT_MS_MAX)) {
        struct error cause = {0};
        int stored = try_store(list, name, text, size, &cause, err);
        if (stored < 0 || stored == 2) {
            list->is_overtaken = stored == 2;
            return stored == 2 ? error_set(err, ERROR_CANCELLED, "stored by another process") : -1;
        }
        if (stored == 1) {
            break;
        }
        if (pause_ms == WAIT_MS_MIN && cause.kind) { /* nothing is scored meanwhile */
            log_event(LOG_WARNING, "the list of inputs is not stored yet: %s", cause.text);
        }
        if (clock_monotonic_ms() - start_ms > STORE_TIMEOUT_MS) {
            return error_set(err, ERROR_UNAVAILABLE, "the list of inputs cannot be stored: %s",
                             cause.text);
        }
        if (!wait_ms(list, pause_ms)) {
            return error_set(err, ERROR_CANCELLED, "stopped");
        }
    }
    free(list->cursor);
    list->cursor = TAKE(list->writer.cursor);
    struct list_page page = {.first = list->told.lines,
                             .count = list->writer.scored,
                             .line_count = list->writer.count,
                             .counts = list->writer.counts,
                             .is_last = is_last};
    add_page(list, &page);
    list_writer_release(&list->writer);
    list_writer_init(&list->writer);
    list->cannot_store = false;
    return 0;
}

static bool is_due(const struct list *list) {
    int64_t wanted = (int64_t)FIRST_PAGE_LINES << MIN(list->told.pages, (size_t)7);
    return (int64_t)list->writer.count >= MIN(wanted, (int64_t)LIST_PAGE_LINES_MAX) ||
           clock_monotonic_ms() - list->page_started_ms >= LIST_PAGE_MS;
}

static int on_line(void *context, const char *line, size_t size, const char *cursor,
                   struct error *err) {
    struct list *list = context;
    if (atomic_load(&list->stops)) {
        return error_set(err, ERROR_CANCELLED, "stopped");
    }
    if (list->skips > 0) {
        list->skips--;
        list->left_out = 0; /* the line's page has them */
        return 0;
    }
    enum list_flag flag = LIST_PLAIN;
    if (list->merge && list_merge_line(list->merge, line, size, &flag, err) < 0) {
        return -1;
    }
    if (list->writer.count && is_due(list) && store_page(list, /* is_last= */ false, err) < 0) {
        return -1;
    }
    int added = list_writer_add(&list->writer, line, size, flag, cursor, err);
    if (added == 0) {
        if (store_page(list, /* is_last= */ false, err) < 0) {
            return -1;
        }
        added = list_writer_add(&list->writer, line, size, flag, cursor, err);
    }
    list_writer_leave_out(&list->writer, &list->left_out);
    if (list->writer.count == 1) {
        list->page_started_ms = clock_monotonic_ms();
    }
    return added < 0 ? -1 : 0;
}

/* The listing was interrupted: earlier lines are valid, and those that cannot be stored now will be
 * listed again. */
static void save_lines(struct list *list) {
    struct error unsaid = {0};
    if (!list->cannot_store && list->writer.count &&
        store_page(list, /* is_last= */ false, &unsaid) < 0) {
        list_writer_release(&list->writer);
        list_writer_init(&list->writer);
    }
}

/* Lists all that is not in the pages. */
static int list_on(struct list *list, struct error *err) {
    AUTO(text_freep) char *scratch = x_printf("%s/run-%s-", list->folder, list->scratch);
    AUTO(text_freep) char *kept = x_printf("%s/" LIST_KEPT_PREFIX, list->folder);
    AUTO(text_freep) char *after = x_strdup(list->cursor);
    struct input_listing listing = {.spec = list->options.spec,
                                    .query = list->options.query,
                                    .after = after,
                                    .scratch = list->options.output,
                                    .scratch_name = scratch,
                                    .kept_name = kept,
                                    .left_out = &list->left_out};
    list->left_out = 0;
    list->skips = after ? 0 : list->told.all;
    list->is_overtaken = list->cannot_store = false;
    list_writer_release(&list->writer);
    list_writer_init(&list->writer);
    if (list->options.kind->list(&listing, on_line, list, err) < 0 ||
        (list->merge && list_merge_finish(list->merge, err) < 0)) {
        save_lines(list);
        return -1;
    }
    if (list->skips > 0) {
        return error_set(err, ERROR_INVALID, "the input has %lld items fewer than before",
                         (long long)list->skips);
    }
    list_writer_leave_out(&list->writer, &list->left_out);
    return store_page(list, /* is_last= */ true, err);
}

/* Lists from the end of the pages to the end of the input, or until another coordinator has
 * overtaken us. */
static int list_rest(struct list *list, struct error *err) {
    struct list_merge merge;
    if (!list->options.base) {
        return list_on(list, err);
    }
    list_merge_init(&merge, list->options.output, list->run, list->options.base, list->cursor);
    list->merge = &merge;
    int result = list_on(list, err);
    list->merge = NULL;
    list_merge_release(&merge);
    return result;
}

static void *run(void *context) {
    struct list *list = context;
    struct error err = {0};
    do {
        error_clear(&err);
        list->is_overtaken = false;
    } while (!list->told.is_complete && list_rest(list, &err) < 0 && list->is_overtaken &&
             !atomic_load(&list->stops));
    pthread_mutex_lock(&list->lock);
    list->told.has_ended = true;
    list->told.err = list->told.is_complete ? (struct error){0} : err;
    pthread_mutex_unlock(&list->lock);
    if (list->options.wake) {
        list->options.wake(list->options.context);
    }
    return NULL;
}

/* ---- the caller's --------------------------------------------------------------------------- */

int list_open(const struct list_options *options, struct list **ret_list, struct error *err) {
    struct list *list = x_calloc(1, sizeof *list);
    list->options = *options;
    list->run = x_strdup(options->run);
    list->scratch = x_strdup(options->scratch);
    list->folder =
        options->folder ? x_strdup(options->folder) : x_printf(".windlass/%s/list", options->run);
    pthread_mutex_init(&list->lock, NULL);
    timed_wait_init(&list->changed);
    list_writer_init(&list->writer);
    if (read_pages(list, err) < 0) {
        list_free(list);
        return -1;
    }
    if (!list->told.is_complete) {
        if (pthread_create(&list->thread, NULL, run, list) != 0) {
            list_free(list);
            return error_set(err, ERROR_EXHAUSTED, "cannot start a thread");
        }
        list->has_thread = true;
    }
    *ret_list = list;
    return 0;
}

void list_free(struct list *list) {
    if (!list) {
        return;
    }
    if (list->has_thread) {
        pthread_mutex_lock(&list->lock);
        atomic_store(&list->stops, true);
        pthread_cond_broadcast(&list->changed);
        pthread_mutex_unlock(&list->lock);
        pthread_join(list->thread, NULL);
    }
    for (size_t i = 0; i < PAGES_HELD; i++) {
        list_page_release(&list->held[i].page);
    }
    list_writer_release(&list->writer);
    pthread_mutex_destroy(&list->lock);
    pthread_cond_destroy(&list->changed);
    free(list->told.firsts);
    free(list->cursor);
    free(list->run);
    free(list->folder);
    free(list->scratch);
    free(list);
}

int list_turn(struct list *list, int64_t *ret_lines, struct error *err) {
    pthread_mutex_lock(&list->lock);
    int64_t lines = list->told.lines;
    bool is_complete = list->told.is_complete;
    bool has_failed = list->told.has_ended && list->told.err.kind;
    struct error why = list->told.err;
    pthread_mutex_unlock(&list->lock);
    if (lines > list->lines || (is_complete && !list->is_complete)) {
        list->lines = *ret_lines = lines;
        list->is_complete = is_complete;
        return 1;
    }
    if (has_failed) {
        *err = why;
        return -1;
    }
    return 0;
}

bool list_is_complete(const struct list *list) {
    return list->is_complete;
}

struct list_counts list_found(struct list *list) {
    pthread_mutex_lock(&list->lock);
    struct list_counts counts = list->told.counts;
    pthread_mutex_unlock(&list->lock);
    return counts;
}

/* The page that has this line: the last one that begins at or before it. */
static int64_t find_page(struct list *list, int64_t line) {
    pthread_mutex_lock(&list->lock);
    size_t low = 0, high = list->told.pages;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(list->told.firsts[middle] <= line ? &low : &high) = middle;
    }
    pthread_mutex_unlock(&list->lock);
    return (int64_t)low;
}

static const struct list_page *hold_page(struct list *list, int64_t number, struct error *err) {
    struct cached_page *oldest = &list->held[0];
    for (size_t i = 0; i < PAGES_HELD; i++) {
        struct cached_page *held = &list->held[i];
        if (held->used && held->page.number == number) {
            held->used = ++list->uses;
            return &held->page;
        }
        oldest = held->used < oldest->used ? held : oldest;
    }
    struct list_page page = {0};
    int found = fetch_page(list, number, &page, err);
    if (found <= 0) {
        AUTO(text_freep) char *name = page_name(list, number);
        error_set(err, ERROR_INVALID, "%s/%s: a page of the input's list is missing",
                  store_path(list->options.output), name);
        return NULL;
    }
    list_page_release(&oldest->page);
    *oldest = (struct cached_page){page, ++list->uses};
    return &oldest->page;
}

static int append_line(const struct list_page *page, const struct list_line *row, bool is_work,
                       struct buffer *buffer, struct error *err) {
    const char *text = page->text + row->start, *core = NULL;
    size_t size = is_work ? fingerprint_core(page->text + row->print, row->print_size, &core) : 0;
    if (size == 0) {
        return buffer_append(buffer, text, row->json_size, err);
    }
    return buffer_append(buffer, "[", 1, err) < 0 ||
                   buffer_append(buffer, text, row->json_size, err) < 0 ||
                   buffer_append(buffer, ",\"", 2, err) < 0 ||
                   buffer_append(buffer, core, size, err) < 0
               ? -1
               : buffer_append(buffer, "\"]", 2, err);
}

static int append_lines(struct list *list, int64_t first, int64_t count, bool is_work,
                        struct buffer *buffer, struct error *err) {
    assert(first >= 0 && count >= 0 && first + count <= list->lines);
    if (buffer_append(buffer, "[", 1, err) < 0) {
        return -1;
    }
    for (int64_t line = first; line < first + count;) {
        const struct list_page *page = hold_page(list, find_page(list, line), err);
        if (!page) {
            return -1;
        }
        int64_t at = line - page->first, left = (int64_t)page->count - at;
        if (at < 0 || left <= 0) {
            return error_set(err, ERROR_INVALID, "%s: page %lld of the list has changed",
                             store_path(list->options.output), (long long)page->number);
        }
        for (int64_t end = MIN(line + left, first + count); line < end; line++, at++) {
            const struct list_line *row = &page->lines[page->scored[at]];
            if ((line > first && buffer_append(buffer, ",", 1, err) < 0) ||
                append_line(page, row, is_work, buffer, err) < 0) {
                return -1;
            }
        }
    }
    return buffer_append(buffer, "]", 1, err);
}

int list_lines(struct list *list, int64_t first, int64_t count, struct buffer *buffer,
               struct error *err) {
    return append_lines(list, first, count, /* is_work= */ false, buffer, err);
}

int list_work(struct list *list, int64_t first, int64_t count, struct buffer *buffer,
              struct error *err) {
    return append_lines(list, first, count, /* is_work= */ true, buffer, err);
}

int list_digest(struct list *list, char ret_sha256[static 65], struct error *err) {
    AUTO(digest_freep) struct digest *digest = digest_new();
    struct list_reader reader;
    int found;
    list_reader_init(&reader, list->options.output, list->run, list->folder);
    while ((found = list_reader_next(&reader, err)) > 0) {
        digest_add(digest, reader.json, reader.json_size);
        if (reader.has_print) {
            digest_add(digest, "\t", 1);
            digest_add(digest, reader.print, reader.print_size);
        }
        digest_add(digest, "\n", 1);
    }
    list_reader_release(&reader);
    digest_end(TAKE(digest), ret_sha256);
    return found;
}

/* ---- comparing ------------------------------------------------------------------------------ */

struct comparing {
    struct list_reader reader;
    const struct list_base *results;
    int64_t lines;
    bool is_same, has_all;
};

/* A line with a result whose file is gone. */
static int check_result(struct comparing *comparing, struct error *err) {
    const struct list_base *results = comparing->results;
    struct list_base all = {.results = results->results};
    bool had = false, has = false;
    if (!results->is_there || !comparing->has_all) {
        return 0;
    }
    if (list_base_has(&all, &comparing->reader, &had, err) < 0 ||
        list_base_has(results, &comparing->reader, &has, err) < 0) {
        return -1;
    }
    comparing->has_all = !had || has;
    return 0;
}

static int compare_line(void *context, const char *line, size_t size, const char *cursor UNUSED,
                        struct error *err) {
    struct comparing *comparing = context;
    struct list_reader *known = &comparing->reader;
    comparing->lines++;
    if (!comparing->is_same) {
        return 0; /* only counted */
    }
    int found = list_reader_next(known, err);
    if (found <= 0) {
        comparing->is_same = false;
        return found;
    }
    const char *tab = memchr(line, '\t', size);
    size_t json_size = tab ? (size_t)(tab - line) : size;
    size_t print_size = tab ? size - json_size - 1 : 0;
    bool is_known = !tab || fingerprint_is_known(tab + 1, print_size);
    comparing->is_same =
        is_known && known->json_size == json_size && memcmp(known->json, line, json_size) == 0 &&
        known->print_size == print_size && (!tab || memcmp(known->print, tab + 1, print_size) == 0);
    return check_result(comparing, err);
}

int list_compare(struct list *list, const struct list_base *results,
                 struct list_comparison *ret_comparison, struct error *err) {
    assert(list->is_complete);
    AUTO(text_freep) char *scratch = x_printf("%s/run-%s-", list->folder, list->scratch);
    AUTO(text_freep) char *kept = x_printf("%s/" LIST_KEPT_PREFIX, list->folder);
    struct input_listing listing = {.spec = list->options.spec,
                                    .query = list->options.query,
                                    .scratch = list->options.output,
                                    .scratch_name = scratch,
                                    .kept_name = kept};
    struct comparing comparing = {.results = results, .is_same = true, .has_all = true};
    list_reader_init(&comparing.reader, list->options.output, list->run, list->folder);
    int result = list->options.kind->list(&listing, compare_line, &comparing, err);
    list_reader_release(&comparing.reader);
    if (result < 0) {
        return -1;
    }
    *ret_comparison =
        (struct list_comparison){.is_same = comparing.is_same && comparing.lines == list->told.all,
                                 .has_all = comparing.has_all,
                                 .then = list->told.all,
                                 .now = comparing.lines};
    return 0;
}
