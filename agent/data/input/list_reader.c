// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/list_reader.h"

#include <stdlib.h>
#include <string.h>

void list_reader_init(struct list_reader *reader, struct store *store, const char *run,
                      const char *folder) {
    *reader = (struct list_reader){.store = store, .run = run, .folder = folder};
}

void list_reader_release(struct list_reader *reader) {
    list_page_release(&reader->page);
    free(TAKE(reader->name));
}

int list_reader_page(struct store *store, const char *run, const char *folder, int64_t number,
                     struct list_page *ret_page, struct error *err) {
    AUTO(text_freep) char *name = x_printf("%s/%08lld", folder, (long long)number);
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, LIST_PAGE_BYTES_MAX);
    struct error cause = {0};
    if (store_get(store, name, &text, NULL, &cause) < 0) {
        if (cause.kind == ERROR_NOT_FOUND) {
            return 0;
        }
        *err = cause;
        return -1;
    }
    size_t size = 0;
    char *bytes = buffer_take(&text, &size);
    if (list_page_read(run, number, bytes, size, ret_page, err) < 0) {
        return error_context(err, "%s/%s", store_path(store), name);
    }
    return 1;
}

/* 1: the page of the next line is there; 0: there is none. */
static int turn_page(struct list_reader *reader, struct error *err) {
    while (reader->next == reader->page.line_count) {
        if (reader->page.is_last) {
            return 0;
        }
        struct list_page page = {0};
        int found =
            list_reader_page(reader->store, reader->run, reader->folder, reader->pages, &page, err);
        if (found <= 0) {
            return found;
        }
        list_page_release(&reader->page);
        reader->page = page;
        reader->pages++;
        reader->next = 0;
    }
    return 1;
}

int list_reader_next(struct list_reader *reader, struct error *err) {
    int found = turn_page(reader, err);
    if (found <= 0) {
        return found;
    }
    const struct list_page *page = &reader->page;
    const struct list_line *line = &page->lines[reader->next++];
    AUTO(tree_freep)
    json_t *name = json_loadb(page->text + line->start, line->json_size, JSON_DECODE_ANY, NULL);
    free(reader->name);
    reader->name = x_strdup(json_string_value(name));
    reader->json = page->text + line->start;
    reader->json_size = line->json_size;
    reader->print = line->print ? page->text + line->print : "";
    reader->print_size = line->print_size;
    reader->has_print = line->print > 0;
    reader->flag = line->flag;
    reader->scored = line->flag == LIST_KEPT ? -1 : reader->scored_next++;
    return 1;
}
