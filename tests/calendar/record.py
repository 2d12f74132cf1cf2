"""Records croniter's answers in croniter.tsv: zone, start, expression, the next due times.

The zones are the files in zones/, so that the answers do not depend on the system's. croniter runs
with implement_cron_bug, which is Vixie cron's rule for a day of the month or a weekday that begins
with an asterisk. Left out is what Vixie cron does not accept: ranges that end before they begin, a
step after a single value, and ranges of one value, which croniter takes for the whole field. Items
are sorted, because croniter lets an asterisk inside a list decide, and Vixie cron does not.
"""

import datetime
import importlib.metadata
import pathlib
import random
import sys
import zoneinfo

import croniter

HERE = pathlib.Path(__file__).parent
UTC = datetime.timezone.utc
DUE_TIMES = 6

FIELDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "Sun MON tue Wed thu fri sat".split()

BY_HAND = """
* * * * *|30 2 * * *|0,30 2 * * *|30 1 * * *|*/15 * * * *|*/30 1-3 * * *|15 */2 * * *|0 0 * * *
30 2,3 * * *|0 2,3 * * *|59 23 31 12 *|0 0 29 2 *|0 12 13 * 5|0 12 */2 * 1|0 12 13 * */2
0 12 * * 7|0 12 * * 0|0 12 * * 5-7|0 12 * * sun,WED|0 0 1 jan-mar *|5/0|@hourly|@daily|@midnight
@weekly|@monthly|@yearly|@annually|0 0-23 * * *|30 0-23/1 * * *|0 0 31 * *|0 0 1-7 * mon|45 1,2 * * *
20 2 * * 0|20 2 31 3 *|10-50/20 2 * * *|*/7 0-2 * * *|0 4 8-14 * *|0 22 * * 1-5|5 4 * * sun
1 2 3 4 *|0 0,12 1 */2 *|23 0-20/2 * * *|0 3 * * 6-7/2|0 3 * * 1-7/2|0 3 * * */7
"""


def item(rng, field):
    first, last = FIELDS[field]
    kind = rng.randrange(5)
    if kind == 0:
        return "*/%d" % rng.randrange(1, last + 1)
    low = rng.randrange(first, last + 1)
    if kind in (1, 2) or low == last:
        names = {3: MONTHS, 4: WEEKDAYS}.get(field)
        if names and low - first < len(names) and rng.random() < 0.5:
            return names[low - first]
        return str(low)
    high = rng.randrange(low + 1, last + 1)
    step = "/%d" % rng.randrange(1, 10) if kind == 4 else ""
    return "%d-%d%s" % (low, high, step)


def expression(rng):
    fields = []
    for field in range(5):
        if rng.random() < (0.2, 0.25, 0.6, 0.75, 0.6)[field]:
            fields.append("*")
        else:
            items = [item(rng, field) for _ in range(rng.choice((1, 1, 2, 3)))]
            fields.append(",".join(sorted(items)))
    return " ".join(fields)


def changes(zone):
    """The instants around which the zone's offset changes, found day by day and bisected."""
    found = []
    day = 86400
    at = int(datetime.datetime(2011, 1, 1, tzinfo=UTC).timestamp())
    end = int(datetime.datetime(2046, 1, 1, tzinfo=UTC).timestamp())

    def offset(instant):
        return datetime.datetime.fromtimestamp(instant, zone).utcoffset()

    while at < end:
        if offset(at) != offset(at + day):
            low, high = at, at + day
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == offset(at) else (low, middle)
            found.append(high)
        at += day
    return found


def row(out, name, zone, start, text):
    try:
        dates = croniter.croniter(
            text, datetime.datetime.fromtimestamp(start, zone), implement_cron_bug=True
        )
        due = [int(dates.get_next(float)) for _ in range(DUE_TIMES)]
    except croniter.CroniterBadCronError:
        return
    except croniter.CroniterBadDateError:
        return
    out.write("%s\t%d\t%s\t%s\n" % (name, start, text, " ".join(map(str, due))))


def main():
    rng = random.Random(20261124)
    texts = [t for line in BY_HAND.split("\n") for t in line.split("|") if t]
    with open(sys.argv[1], "w", encoding="ascii", newline="\n") as out:
        out.write("# croniter %s; written by tests/calendar/record\n" % importlib.metadata.version("croniter"))
        for path in sorted((HERE / "zones").iterdir()):
            with path.open("rb") as file:
                zone = zoneinfo.ZoneInfo.from_file(file, path.name)
            around = changes(zone) or [1700000000]
            for text in texts:
                for change in rng.sample(around, min(2, len(around))):
                    row(out, path.name, zone, change - rng.choice((60, 3600, 5400, 90000)), text)
            for _ in range(120):
                start = rng.choice(around) - rng.randrange(-90000, 180000)
                row(out, path.name, zone, start, expression(rng))


main()
