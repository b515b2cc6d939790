// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status/status_show.h"

#include "operator/kinds/kinds.h"

#include <stdio.h>

void status_denied(const char *kind, const char *what, const struct error *why) {
    fprintf(stderr, "windlass status: %ss are not %s: %s\n", kind, what, why->text);
}

bool status_has_page(const struct kind_row *row) {
    return row->children && row->children->page;
}
