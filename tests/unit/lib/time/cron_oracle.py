#!/usr/bin/env python3
"""The oracle of test_cron.c: cron_oracle.py SEED COUNT prints lines ZONE|CRON|AFTER|NEXT (seconds since 1970).
NEXT is found by walking minute by minute through Python's zoneinfo; "-LIMIT" where nothing fires until LIMIT."""
import random
import sys
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

ZONES = ["UTC", "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/St_Johns", "America/Sao_Paulo",
         "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca", "Asia/Kolkata", "Asia/Tehran", "Pacific/Apia"]
# For each zone a day or two on which clocks change (2011: Apia has no 30 December), also after 2037.
DAYS = ["2026-03-28", "2026-03-29", "2026-10-24", "2026-10-25", "2026-03-08", "2026-11-01", "2018-02-17", "2018-11-04",
        "2026-04-04", "2026-10-03", "2011-12-29", "2041-03-30", "2041-10-26", "2052-03-09", "2022-03-21", "2026-02-14",
        "2028-02-28", "2026-12-31"]
NAMES = [None, None, None, "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(),
         "SUN MON TUE WED THU FRI SAT".split()]
BOUNDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]


def part(field):
    low, high = BOUNDS[field]
    kind = random.randrange(5)
    first = random.randint(low, high)
    last = random.randint(first, high)
    step = random.randint(1, high)
    if field == 1 and random.random() < 0.7:  # where clocks change
        first = random.randint(0, 3)
        last = random.randint(first, 4)
    if NAMES[field] and kind == 0 and first - low < len(NAMES[field]):
        return random.choice([str.lower, str.upper])(NAMES[field][first - low])
    return {0: f"{first}", 1: f"{first}-{last}", 2: f"{first}-{last}/{step}", 3: f"*/{step}", 4: f"{first}"}[kind]


def field(index):
    if random.random() < (0.15, 0.3, 0.75, 0.85, 0.75)[index]:
        return "*"
    return ",".join(part(index) for _ in range(random.choice([1, 1, 1, 2, 3])))


def values(text, index):
    low, high = BOUNDS[index]
    found = set()
    for one in text.split(","):
        span, _, step = one.partition("/")
        ends = [low, high if index < 4 else 6] if span == "*" else [
            int(e) if e.isdigit() else low + NAMES[index].index(e.upper()) for e in span.split("-")]
        found |= set(range(ends[0], ends[-1] + 1, int(step or 1)))
    return {0 if index == 4 and v == 7 else v for v in found}


class Cron:
    def __init__(self, text):
        self.fields = text.split()
        self.sets = [values(f, i) for i, f in enumerate(self.fields)]
        self.steady = "*" in self.fields[0] or "*" in self.fields[1]
        self.either = self.fields[2][0] != "*" and self.fields[4][0] != "*"

    def matches(self, wall):
        day = wall.day in self.sets[2], (wall.weekday() + 1) % 7 in self.sets[4]
        return (wall.minute in self.sets[0] and wall.hour in self.sets[1] and wall.month in self.sets[3]
                and (any(day) if self.either else all(day)))


def wall(at, zone):
    return datetime.fromtimestamp(at, zone)


def find(cron, zone, after, limit):
    at = after - after % 60
    before = wall(at, zone).replace(tzinfo=None)
    while at < limit:
        at += 60
        now = wall(at, zone)
        shown = now.replace(tzinfo=None)
        if cron.steady:
            if cron.matches(now):
                return at
        else:
            skipped = before + timedelta(minutes=1)
            while skipped < shown:
                if cron.matches(skipped):
                    return at
                skipped += timedelta(minutes=1)
            if now.fold == 0 and cron.matches(now):
                return at
        before = shown
    return -limit


def main():
    random.seed(int(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        zone, text = random.choice(ZONES), " ".join(field(i) for i in range(5))
        start = datetime.fromisoformat(random.choice(DAYS)).timestamp()
        after = int(start) + random.randrange(-3 * 3600, 2 * 86400)
        if zone == "Pacific/Apia" and random.random() < 0.3:
            after = int(datetime(2011, 12, 30, 9, 30).timestamp())
        print(f"{zone}|{text}|{after}|{find(Cron(text), ZoneInfo(zone), after, after + 3 * 86400)}")


main()
