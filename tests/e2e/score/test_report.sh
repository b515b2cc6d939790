#!/usr/bin/env bash
# report.html and sweep.html as other programs see them: the pages that the unit tests make (1 to 1,000 workers, 10^6
# mini-batches, all failed, none, names that are attacks) are XML for expat, load nothing, run nothing; and where
# Chromium is installed (this test does not install it), it shows each, also at a phone's width.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/pages"
check "the unit test makes pages" env REPORT_PAGES="$work/pages" \
    "${BUILD:-build}/tests/unit/agent/score/report/test_report" >"$work/log" || sed 's/^/# /' "$work/log"
grep -v '^ok [a-z_]*$' "$work/log"
for name in test_sweep_html test_sweep_html_many; do
    check "and that of sweeps, $name" env SWEEP_PAGES="$work/pages" \
        "${BUILD:-build}/tests/unit/operator/kinds/sweep/show/$name" >"$work/sweeps.log" || sed 's/^/# /' "$work/sweeps.log"
done
cat >"$work/check.py" <<'P'
import pathlib, re, sys, xml.etree.ElementTree as tree
bad, count = 0, 0
for page in sorted(pathlib.Path(sys.argv[1]).glob("*.html")):
    count += 1
    root = tree.fromstring(page.read_bytes())
    names = {element.tag.split("}")[-1] for element in root.iter()}
    attributes = {name for element in root.iter() for name in element.attrib}
    style = root.find(".//{*}style").text
    policy = [m.get("content") for m in root.iter() if m.get("http-equiv") == "Content-Security-Policy"]
    faults = names & {"script", "iframe", "object", "embed", "link", "img", "base", "form", "a", "image", "use"}
    faults |= {name for name in attributes if name.startswith("on") or name in ("href", "src", "srcset", "action")}
    if "url(" in style or "@import" in style or policy != ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]:
        faults.add("style or policy")
    if sum(element.tag.split("}")[-1] == "style" for element in root.iter()) != 1:
        faults.add("styles")
    for element in root.iter():
        if not re.fullmatch(r"left:[0-9.]+%|min-width:[0-9]+px", element.get("style", "left:0%")):
            faults.add("style=" + element.get("style"))
    if faults:
        bad += 1
        print("#", page.name, faults)
if count < 28:
    sys.exit(f"# {count} pages")
sys.exit(bad != 0)
P
check "each page is XML, without script, link or picture" python3 "$work/check.py" "$work/pages"
# Attempted markup appears as text.
check "an attack is shown as text" python3 - "$work/pages/hostile-00.html" "$work/pages/sweep-hostile-00.html" <<'P'
import sys, xml.etree.ElementTree as tree
for page in sys.argv[1:]:
    text = "".join(tree.parse(page).getroot().find("{*}body").itertext())
    if text.count("</title><script>alert(1)</script>") < 5:
        sys.exit("# " + page)
P
browser=$(command -v chromium-headless-shell || command -v chromium || true)
if [ -z "$browser" ]; then
    echo "skip pages in a browser: no Chromium on this machine"
    exit
fi
# A screenshot of that width, not blank.
shows() { # page, width
    rm -f "$work/shot.png"
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --window-size="$2,1600" --user-data-dir="$work/profile" \
        --screenshot="$work/shot.png" "file://$1" >"$work/browser.log" 2>&1 || return 1
    ffprobe -v error -show_entries stream=width -of csv=p=0 "$work/shot.png" | grep -q "^$2" || return 1
    # The difference of its lightest and darkest pixels.
    ffmpeg -v error -i "$work/shot.png" -vf signalstats,metadata=print:file="$work/stats" -f null - &&
        awk -F= '/YMIN/ { min = $2 } /YMAX/ { max = $2 } END { exit !(max - min > 100) }' "$work/stats"
}
for name in none one fifty thousand all-failed hostile-00 hostile-05 sweep-hostile-00 sweep-full; do
    check "a browser shows $name" shows "$work/pages/$name.html" 1200
    check "and on a phone's width" shows "$work/pages/$name.html" 390
done
exit $((failures > 0))
