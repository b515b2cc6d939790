#!/usr/bin/env bash
# docs/operate/metrics.md lists the metrics of operator/operator_metrics.c, with their labels, and no others.
cd "$(dirname "$0")/../.." || exit 3
told() { sed -n 's/^| \(windlass_[a-z_]*\) | \([a-z]*\) | \([a-z, ]*\)|.*/\1 \2 \3/p' docs/operate/metrics.md | sed 's/,//g; s/ *$//' | sort; }
# A row of the table: {"NAME", "HELP", PROMETHEUS_KIND, {"LABEL", ...}, {BOUNDS}}.
counted() {
    sed -n '/^static const struct prometheus_family families/,/^};/p' operator/operator_metrics.c | tr '\n' ' ' |
        grep -oE '\{ *"windlass_[^}]*(\{[^}]*\})' |
        sed -E 's/^\{ *"(windlass_[a-z_]*)".*PROMETHEUS_([A-Z]*), *\{([^}]*)\}$/\1 \L\2\E \3/; s/[",]//g; s/ 0$//; s/ *$//' | sort
}
[ "$(counted | wc -l)" -ge 10 ] || { echo "not ok metrics: the table in operator/operator_metrics.c could not be read"; exit 1; }
if difference=$(diff <(told) <(counted)); then
    echo "ok metrics"
else
    echo "$difference" | sed -n 's/^< /not ok docs\/operate\/metrics.md has, operator\/operator_metrics.c has not: /p; s/^> /not ok docs\/operate\/metrics.md lacks: /p'
    exit 1
fi
