// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/ask_list.h"

void ask_list_append(struct ask_list *list, struct pool_ask *ask) {
    ask->own.next = NULL;
    *list->end = ask;
    list->end = &ask->own.next;
}

struct pool_ask *ask_list_take(struct ask_list *list) {
    struct pool_ask *ask = list->first;
    list->first = ask->own.next;
    if (!list->first) {
        list->end = &list->first;
    }
    return ask;
}

void ask_list_move(struct ask_list *from, struct ask_list *to) {
    if (from->first) {
        *to->end = from->first;
        to->end = from->end;
        *from = (struct ask_list){.end = &from->first};
    }
}

void ask_list_mend(struct ask_list *list) {
    list->end = &list->first;
    while (*list->end) {
        list->end = &(*list->end)->own.next;
    }
}

void ask_list_insert(struct pool_ask **first, struct pool_ask *ask) {
    struct pool_ask **at = first;
    while (*at && (*at)->own.due_ms <= ask->own.due_ms) {
        at = &(*at)->own.next;
    }
    ask->own.next = *at;
    *at = ask;
}

void ask_list_link(struct pool_ask **first, struct pool_ask *ask) {
    ask->own.next = *first;
    ask->own.link = first;
    if (ask->own.next) {
        ask->own.next->own.link = &ask->own.next;
    }
    *first = ask;
}

void ask_list_unlink(struct pool_ask *ask) {
    *ask->own.link = ask->own.next;
    if (ask->own.next) {
        ask->own.next->own.link = ask->own.link;
    }
    ask->own.call = NULL;
}
