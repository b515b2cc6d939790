/* ui_cluster.h: the jobs of a cluster as a source of `windlass ui`, with the user's kubeconfig. The
 * rows come from watches, in the thread that calls ui_cluster_wait; what is asked about one job
 * goes over a connection of its own. */
#pragma once

#include "operator/commands/remote.h"
#include "operator/commands/ui/ui_source.h"
#include "operator/commands/ui/ui_table.h"

struct ui_cluster;

/* options and table are borrowed. */
NODISCARD int ui_cluster_open(const struct remote_options *options, struct ui_table *table,
                              struct ui_cluster **ret_cluster, struct error *err);
void ui_cluster_free(struct ui_cluster *cluster); /* accepts NULL */
struct ui_source *ui_cluster_source(struct ui_cluster *cluster);

/* Keeps the rows up to date until end_fd is readable. */
NODISCARD int ui_cluster_wait(struct ui_cluster *cluster, int end_fd, struct error *err);
