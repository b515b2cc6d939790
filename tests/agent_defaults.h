/* agent_defaults.h: for tests of the agent, which has no defaults of its own: fills a part of a
 * spec as windlass does before an agent gets it, from the definition in crds/. */
#pragma once

#include "lib/file.h"
#include "lib/tree.h"
#include "operator/kinds/disttrain/optimizer_defaults.h"
#include "operator/schema.h"

#include <stdlib.h>
#include <string.h>

/* definition: "crds/disttrain.yaml"; path: where the part belongs, such as "spec.trainer.schedule".
 * Fills in its defaults in place; `part` keeps its reference. */
UNUSED static void fill_part(const char *definition, const char *path, json_t *part) {
    AUTO(text_freep) char *text = NULL;
    AUTO(schema_freep) struct schema *schema = NULL;
    struct error err = {0};
    size_t size = 0;
    char parts[200];
    snprintf(parts, sizeof parts, "%s", path);
    json_t *whole = json_incref(part);
    for (char *name = parts + strlen(parts); name > parts;) { /* from the last name to the first */
        while (name > parts && name[-1] != '.') {
            name--;
        }
        json_t *outer = json_object();
        json_object_set_new(outer, name, whole);
        whole = outer;
        if (name > parts) {
            *--name = 0;
        }
    }
    if (file_read(definition, 1 << 24, &text, &size, &err) < 0 ||
        schema_parse(text, size, &schema, &err) < 0) {
        printf("not ok %s: %s\n", definition, err.text);
        exit(1);
    }
    schema_fill_defaults(schema, whole);
    optimizer_defaults_fill(tree_get(whole, "spec.trainer"));
    json_decref(whole);
}
