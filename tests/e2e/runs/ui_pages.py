"""ui_pages.py CHROMIUM FOLDER ADDRESS WHAT: the page of `windlass ui` in a browser, with pictures in FOLDER.
WHAT runs: the runs of test_ui.sh, in both themes and at both widths, by mouse and keyboard.
WHAT cluster: 10,000 jobs; prints the first paint and the bytes of the page."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from browser import Browser  # noqa: E402

chromium, folder, address, what = sys.argv[1:5]
LISTED = "performance.getEntriesByName('list').length > 0"
bad = 0


def check(name, holds):
    global bad
    bad += not holds
    print(("ok " if holds else "not ok ") + name, flush=True)


def text(page, place):
    return page.value(f"(document.querySelector({json.dumps(place)}) || {{textContent: ''}}).textContent")


# Nothing is wider than the screen but what scrolls by itself; controls have names; texts differ enough from their ground.
FITS = "document.documentElement.scrollWidth <= innerWidth"
NAMED = """[...document.querySelectorAll('button, input, select, a, [role]')].filter(e => e.offsetParent !== null &&
  !(e.getAttribute('aria-label') || e.textContent.trim() || e.id === 'sum' || e.getAttribute('role') === 'status')).map(e => e.outerHTML.slice(0, 90))"""
CONTRAST = """(() => {
  const rgb = text => text.match(/[\\d.]+/g).slice(0, 4).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3]) return c; } return [255, 255, 255]; };
  let least = [99, ''];
  for (const e of document.querySelectorAll('body *')) {
    if (!e.offsetParent || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < least[0]) least = [ratio, e.className + ': ' + e.textContent.slice(0, 30)];
  }
  return least;
})()"""


def look(page, name):
    check(f"{name}: nothing is cut off at the side", page.value(FITS))
    names = page.value(NAMED)
    check(f"{name}: each control has a name", not names)
    if names:
        print("#", names[:3])
    contrast = page.value(CONTRAST)
    check(f"{name}: texts have a contrast of 4.5 at least", contrast[0] >= 4.5)
    if contrast[0] < 4.5:
        print("#", contrast)
    faults = page.faults()
    check(f"{name}: the console has no error", not faults)
    if faults:
        print("#", json.dumps(faults)[:400])
    page.shot(os.path.join(folder, name + ".png"))


def runs(browser):
    for width, height in ((1200, 900), (390, 844)):
        for dark in (False, True):
            name = f"{width}-{'dark' if dark else 'light'}"
            page = browser.page(width, height, dark)
            page.go(address)
            page.until(LISTED)
            look(page, "list-" + name)
            page.value("[...document.querySelectorAll('.row')].find(row => row.textContent.startsWith('tries')).click()")
            page.until("document.querySelector('svg') && document.querySelector('pre')")
            look(page, "sweep-" + name)
            check(f"{name}: a line for each trial", page.value("document.querySelectorAll('path.trial').length") == 3)
            page.go(address)
            page.until(LISTED)
            page.value("[...document.querySelectorAll('.row')].find(row => row.textContent.startsWith('invert')).click()")
            page.until("document.querySelector('.pictures') && document.querySelector('.step') && document.querySelector('pre')")
            page.value("document.querySelector('.pictures').scrollIntoView({block: 'center'})")
            page.until("[...document.querySelectorAll('.pictures img')].every(image => image.complete && image.naturalWidth > 0)")
            look(page, "pipeline-" + name)
            check(f"{name}: the pipeline's steps, two pictures before and after",
                  page.value("[document.querySelectorAll('.step').length, document.querySelectorAll('.link').length, "
                             "document.querySelectorAll('.pictures img').length].join()") == "3,2,4")
            report = page.value("document.querySelector('a[href*=report]').href")
            page.value("document.querySelector('.step[aria-label^=fetch]').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))")
            page.until("(document.querySelector('article h2') || {}).textContent === 'fetch'")
            check(f"{name}: a step leads to its job", True)
            page.go(report)
            page.until("document.readyState === 'complete' && document.querySelector('h1')")
            page.value("document.querySelector('.pictures').scrollIntoView({block: 'center'})")
            check(f"{name}: the report has both pictures before and after", page.value(
                "[...document.querySelectorAll('.pictures img')].map(image => image.naturalWidth > 9).join()") == "true,true,true,true")
            check(f"{name}: nothing of the report is cut off at the side", page.value(FITS))
            page.shot(os.path.join(folder, "report-" + name + ".png"))
    page = browser.page(1200, 900, False)
    page.go(address)
    page.until(LISTED)
    page.value("document.getElementById('list').focus()")
    page.key("ArrowDown")
    page.key("ArrowDown")
    page.until("document.querySelector('article h2')")
    check("arrow keys choose a job, and the list says which",
          page.value("document.getElementById(document.getElementById('list').getAttribute('aria-activedescendant')).getAttribute('aria-selected')") == "true")
    page.key("Escape")
    check("Escape closes it", page.value("!document.querySelector('article h2') && location.hash") == "")
    page.value("(() => { const find = document.getElementById('find'); find.value = 'TEXTS'; find.dispatchEvent(new Event('input')); })()")
    check("a search leaves what fits", page.value("document.querySelectorAll('.row').length") == 1)
    page.value("document.querySelector('.row').click()")
    page.until("document.querySelector('select')")
    page.value("(() => { const menu = document.querySelector('select'); menu.selectedIndex = menu.length - 1; menu.dispatchEvent(new Event('change')); })()")
    page.until("document.querySelector('pre').textContent.includes('the program begins')")
    check("a failed job shows its items as text", "<img src=x" in text(page, "[data-part=failures]") and
          page.value("document.querySelectorAll('img').length") == 0)
    check("without --allow-actions there are no buttons", page.value("document.querySelectorAll('.act').length") == 0)
    look(page, "failed-1200-light")
    page.value("window.kept = document.querySelector('[data-part=pods]')")
    time.sleep(2.2)
    check("what has not changed is not drawn again", page.value("window.kept === document.querySelector('[data-part=pods]')"))
    report = page.value("document.querySelector('a[href*=report]').href")
    page.go(report)
    page.until("document.readyState === 'complete' && document.querySelector('h1')")
    check("its report opens, without our origin", page.value("origin") == "null")


def cluster(browser):
    page = browser.page(1200, 900, False)
    page.go(address)
    page.until(LISTED)
    page.until("document.getElementById('sum').textContent.startsWith('10,00')")
    paints = []
    for _ in range(3):
        page.go("about:blank")
        page.go(address)
        page.until(LISTED)
        paints.append(page.value("[performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.getEntriesByName('list')[0].startTime]"))
    print("# first paint, and 10,000 jobs in the list, ms:", [[round(value) for value in pair] for pair in paints])
    check("the list has all jobs and draws few", page.value("document.getElementById('list').firstChild.offsetHeight / 68") >= 10000 and
          page.value("document.querySelectorAll('.row').length") < 60)
    size = page.value("performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).filter(e => !e.name.includes('/api/')).reduce((sum, e) => sum + e.decodedBodySize, 0)")
    check("the page weighs less than 60 KB", 10000 < size < 60000)
    print("# bytes of the page:", size)
    page.value("document.getElementById('list').scrollTop = 1e7")
    page.until("document.querySelector('[aria-posinset=\"10000\"]')")
    page.value("document.getElementById('list').scrollTop = 0")
    open(os.path.join(folder, "go"), "w").close()
    page.until("[...document.querySelectorAll('.row')].some(row => row.textContent.startsWith('just-made'))")
    check("a job that is made appears by itself", True)
    page.go(address + "#job%2FBatchScore%2Fteam-0%2Fjob-00000")
    page.until("document.querySelector('pre') && document.querySelector('pre').textContent.includes('of the cluster')")
    check("a job of the cluster has its pod and log", "node-3" in text(page, "[data-part=pods]"))
    page.until("document.querySelectorAll('.act').length === 2")
    page.value("[...document.querySelectorAll('.act')].find(button => button.textContent === 'suspend').click()")
    page.until("document.querySelector('[data-part=acts] p').textContent.includes('asked for')")
    check("an action is asked for", True)
    look(page, "cluster-1200-light")
    open(os.path.join(folder, "broken"), "w").close()
    page.until("document.querySelector('[data-part=off]').textContent.startsWith('What is shown is old: ')")
    check("a job that cannot be read any more says why, and stays", "InternalError" in text(page, "[data-part=off]") and
          "node-3" in text(page, "[data-part=pods]"))


with Browser(chromium, os.path.join(folder, "profile")) as browser:
    (runs if what == "runs" else cluster)(browser)
sys.exit(bad != 0)
