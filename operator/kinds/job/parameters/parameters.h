/* parameters.h: spec.parameters: values that a manifest names once, that `--set` changes, and that
 * replace $(parameters.NAME) in the texts of the spec. A value with `from` is known only when a run
 * of a series (docs/glossary.md) starts: its time, its date, or the path that changed. A Sweep's
 * parameters are those that it varies; there --set chooses one value. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* What a run of a series begins with. */
struct parameters_run {
    int64_t time_ms;  /* of its start, wall clock: milliseconds since 1970 UTC */
    const char *path; /* what changed: VOLUME/path, or az:// or s3:// address; NULL: nothing did */
};

/* Refuses references to parameters that the spec does not have, those in fields that take none, and
 * values that do not fit there. */
NODISCARD int parameters_check(const json_t *object, struct error *err);
/* The object with its values in place, and without spec.parameters but those of a series; owned by
 * the caller. NULL: it has no values, or parameters_check refuses them. */
json_t *parameters_fill(const json_t *object);
/* Puts the values of a series in place in the spec of one of its runs; spec.parameters is gone
 * then. */
NODISCARD int parameters_fill_run(json_t *object, const struct parameters_run *run,
                                  struct error *err);

/* --set NAME=VALUE: changes the parameter of the manifest, before it is checked. Of a Sweep,
 * conditional parameters (`when`) that this value rules out are removed. False: the job has no
 * parameter of that name. */
bool parameters_set(json_t *object, const char *name, const char *value);
/* Refuses what is not NAME=VALUE, and values that no parameter takes. *ret_name: owned; *ret_value:
 * borrowed from `text`. */
NODISCARD int parameters_split(const char *text, char **ret_name, const char **ret_value,
                               struct error *err);
