// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/gang_table.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gang_table_release(struct gang_table *table) {
    free(table->rows);
    *table = (struct gang_table){0};
}

int gang_table_place(const struct gang_table *table, int index) {
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].index == index) {
            return (int)i;
        }
    }
    return -1;
}

int gang_table_rank(const struct gang_table *table, int index, int slot) {
    int rank = slot;
    for (size_t i = 0; i < table->count; i++) {
        const struct gang_table_row *row = &table->rows[i];
        if (row->index == index) {
            return slot >= 0 && slot < row->slots ? rank : -1;
        }
        rank += row->slots;
    }
    return -1;
}

int gang_table_ranks(const struct gang_table *table) {
    int ranks = 0;
    for (size_t i = 0; i < table->count; i++) {
        ranks += table->rows[i].slots;
    }
    return ranks;
}

/* The slots of all pods at that row's address; 0 if an earlier row has the same address. */
static int slots_at(const struct gang_table *table, size_t at) {
    int slots = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->rows[i].address, table->rows[at].address) == 0) {
            if (i < at) {
                return 0;
            }
            slots += table->rows[i].slots;
        }
    }
    return slots;
}

int gang_table_hostfile(const struct gang_table *table, bool for_hydra, struct buffer *text,
                        struct error *err) {
    const char *between = for_hydra ? ":" : " slots=";
    for (size_t i = 0; i < table->count; i++) {
        int slots = slots_at(table, i);
        if (slots &&
            buffer_printf(text, err, "%s%s%d\n", table->rows[i].address, between, slots) < 0) {
            return -1;
        }
    }
    return 0;
}

static int add_host(const struct gang_table *table, size_t at, bool with_port, struct buffer *text,
                    struct error *err) {
    const struct gang_table_row *row = &table->rows[at];
    const char *comma = at ? "," : "";
    bool is_six = strchr(row->address, ':') != NULL;
    if (with_port) {
        return buffer_printf(text, err, is_six ? "%s[%s]:%d" : "%s%s:%d", comma, row->address,
                             row->port);
    }
    return slots_at(table, at) ? buffer_printf(text, err, "%s%s", comma, row->address) : 0;
}

int gang_table_hosts(const struct gang_table *table, bool with_ports, struct buffer *text,
                     struct error *err) {
    int result = 0;
    for (size_t i = 0; i < table->count && result == 0; i++) {
        result = add_host(table, i, with_ports, text, err);
    }
    return result;
}

/* Parses an address, since one IPv6 address has several spellings. Returns 4 or 16 bytes; 0: not an
 * address. */
static size_t to_bytes(const char *host, unsigned char bytes[static 16]) {
    char text[64];
    size_t size = strlen(host);
    bool has_brackets = size > 2 && host[0] == '[' && host[size - 1] == ']';
    snprintf(text, sizeof text, "%.*s", (int)MIN(size - 2 * has_brackets, sizeof text - 1),
             host + has_brackets);
    return inet_pton(AF_INET, text, bytes) == 1    ? 4
           : inet_pton(AF_INET6, text, bytes) == 1 ? 16
                                                   : 0;
}

const struct gang_table_row *gang_table_find_host(const struct gang_table *table,
                                                  const char *host) {
    unsigned char wanted[16], bytes[16];
    size_t size = to_bytes(host, wanted);
    for (size_t i = 0; size && i < table->count; i++) {
        if (to_bytes(table->rows[i].address, bytes) == size && memcmp(bytes, wanted, size) == 0) {
            return &table->rows[i];
        }
    }
    return NULL;
}
