#!/usr/bin/env bash
# A Sweep of two objectives by `windlass run`: both are read from one line of output, sweep.html and the last line have
# the trials that no other beats in both.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
sweep_begins
# Accuracy rises with the size, and so does the latency, but 3 is as slow as 4 and less accurate.
cat >"$work/program.sh" <<'P'
accuracy=(0 0.5 0.7 0.75 0.9) latency=(0 1 2 4 4)
echo "INFO accuracy=${accuracy[$PARAM_SIZE]} latency.p99=${latency[$PARAM_SIZE]}"
echo "model $PARAM_SIZE" >"$WINDLASS_OUTPUT_OUT/model.txt"
P
cat >"$work/sweep.yaml" <<Y
apiVersion: windlass.dev/v1beta1
kind: Sweep
metadata: {name: two}
spec:
  objective: {metric: accuracy, goal: Maximize, also: [{metric: latency.p99, goal: Minimize}]}
  parameters: [{name: SIZE, choice: [1, 2, 3, 4]}]
  algorithm: {kind: Grid}
  maxTrials: 4
  trial:
    workers: 1
    image: registry.test/any:1
    launcher: None
    restart: {maxRestarts: 0}
    command: [bash, $work/program.sh]
    volumes: [{name: out, hostPath: {path: $work/out}}]
    outputs: [{id: OUT, path: out/models}]
Y
run_sweep 120
check "all trials complete" test $code -eq 0; show_sweep
names() { grep -q 'the best of 4 trials is two-0003 .*; on the front: two-0000, two-0001, two-0003$' "$work/said"; }
check "the end names the front" names; show_sweep
page() {
    python3 - "$work/state/sweep.html" <<'P'
import re, sys
page = open(sys.argv[1]).read()
front = re.search(r"<h2>Pareto front</h2>(.*?)</table>", page, re.S).group(1)
assert re.findall(r"<th>(.*?)</th>", front) == ["Trial", "accuracy", "latency.p99"], front
assert re.findall(r"<td>(.*?)</td>", front) == ["two-0003", "0.9", "4", "two-0001", "0.7", "2", "two-0000", "0.5", "1"], front
circles = re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)" r="\d"><title>(two-\d+)', front)
kinds = {name: kind for kind, _, _, name in circles}
assert kinds == {"two-0000": "front", "two-0001": "front", "two-0002": "completed", "two-0003": "best"}, circles
at = {name: (float(x), float(y)) for _, x, y, name in circles}
assert at["two-0000"][0] < at["two-0001"][0] < at["two-0002"][0] == at["two-0003"][0], at
assert at["two-0000"][1] > at["two-0001"][1] > at["two-0002"][1] > at["two-0003"][1], at
border = "M%.1f %.1fH%.1fV%.1fH%.1fV%.1f" % (*at["two-0000"], *at["two-0001"], *at["two-0003"])
assert f'class="ahead" d="{border}"' in front, (border, front)
assert "accuracy (more is better) over latency.p99 (less is better)" in front
P
}
check "sweep.html has the front as a chart, and sorted beside it" page; show_sweep
sed 's/metric: latency.p99/metric: accuracy/' "$work/sweep.yaml" >"$work/same.yaml"
refused() { "$windlass" check -f "$work/same.yaml" 2>&1 | grep -q 'spec.objective.also: has objective.metric, which is the first objective'; }
check "the same objective twice is refused" refused
exit $((failures > 0))
