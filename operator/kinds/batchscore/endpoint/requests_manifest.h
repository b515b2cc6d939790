/* requests_manifest.h: the manifest of a batch file (`windlass batch`,
 * docs/operate/model-servers.md). Pure. */
#pragma once

#include "operator/kinds/kind.h"

/* The text of a manifest, owned, that sends the file's requests to its url. */
NODISCARD int requests_manifest(const struct kind_batch *batch, char **ret_text, struct error *err);
