"""What tools/bench-peers reads, counts and writes."""

import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "peers" / "harness"))

import load  # noqa: E402
import machine  # noqa: E402
import main  # noqa: E402
import plot  # noqa: E402
import questions  # noqa: E402
import report  # noqa: E402
import toolchains  # noqa: E402
from figures import Figure, Samples, median, ratio, ratio_text, seconds_for_each, text_of  # noqa: E402
from runtimes import READY, Running, Runtime, ours  # noqa: E402

RATE = Figure("events_1", "events", "events/s")
TIME = Figure("start_ms", "start", "ms")

REPORT = """{"runtime":"x","jobs_per_sec":3.5,"events_per_sec":10,"events":10,"failed":0,"idle_lost":0,"reconnects":0,
"client_core_percent":9,"result_ms":{"p50":1,"p99":2}}""".replace("\n", "")


class Statistics(unittest.TestCase):
    def test_a_median_is_in_the_middle(self):
        for values, want in (([], None), ([7], 7), ([9, 1], 5), ([5, 1, 9], 5), ([4, 1, 2, 100], 3)):
            with self.subTest(values):
                self.assertEqual(median(values), want)

    def test_a_ratio_above_one_means_that_ours_is_better(self):
        self.assertEqual(ratio(RATE, 200, 100), 2)
        self.assertEqual(ratio(RATE, 100, 200), 0.5)
        self.assertEqual(ratio(TIME, 100, 200), 2)
        self.assertEqual(ratio(TIME, 200, 100), 0.5)

    def test_there_is_no_ratio_without_two_figures(self):
        for ours, theirs in ((None, 1), (1, None), (1, 0)):
            self.assertIsNone(ratio(RATE, ours, theirs))
        self.assertIsNone(ratio(TIME, 0, 1))
        self.assertEqual(ratio_text(None), "–")

    def test_numbers_have_three_digits_that_count(self):
        for value, want in ((None, "–"), (0, "0"), (1234567, "1 230 000"), (999.4, "999"), (12.34, "12.3"),
                            (1.234, "1.23"), (0.012345, "0.0123"), (1000, "1 000"), (-12.34, "-12.3")):
            with self.subTest(value):
                self.assertEqual(text_of(value), want)

    def test_the_budget_decides_how_long_a_measurement_is(self):
        self.assertAlmostEqual(seconds_for_each(540, 5, 8, 5, 7.5), 1.2)
        self.assertEqual(seconds_for_each(10000, 5, 8, 5, 7.5), 2.0)
        self.assertEqual(seconds_for_each(10, 5, 8, 5, 7.5), 0.3)

    def test_jobs_are_as_long_as_a_quarter_of_a_second(self):
        self.assertEqual(load.job_events(400000, 1), 100000)
        self.assertEqual(load.job_events(400000, 100), 1000)
        self.assertEqual(load.job_events(300, 100), 100)
        self.assertEqual(load.job_events(10**9, 1), 200000)

    def test_what_is_too_slow_to_be_seen_has_short_jobs(self):
        one = load.Load("/nonexistent", SimpleNamespace(url="ws://127.0.0.1:1/arcp"), 1)
        one.events = lambda *asked: (_ for _ in ()).throw(load.LoadError("nothing ended"))
        self.assertEqual(one.calibrate(100), load.JOB_EVENTS[0])
        one.events = lambda sessions, each, seconds: {"events_per_sec": 40000 if each == 100 else 80000}
        self.assertEqual(one.calibrate(10), 2000)

    def test_a_quick_measurement_ends_after_some_short_jobs(self):
        one = load.Load("/nonexistent", SimpleNamespace(url="ws://127.0.0.1:1/arcp"), 1, is_quick=True)
        one._run = lambda *options: {"events": 1, "options": options}
        self.assertEqual(one.calibrate(100), load.JOB_EVENTS[0])
        for told in (one.jobs(1), one.jobs(64), one.events(10, 100)):
            self.assertIn("--jobs", told["options"])
            self.assertNotIn("--duration", told["options"])
        self.assertIn(f'{{"events":{load.QUICK_PUSHED_EVENTS // 10}}}', one.pushed(10)["options"])

    def test_the_load_generator_never_sleeps_for_one_job_at_a_time_only(self):
        one = load.Load("/nonexistent", SimpleNamespace(url="ws://127.0.0.1:1/arcp"), 1)
        one._run = lambda *options: {"events": 1, "options": options}
        self.assertIn("--busy-poll", one.jobs(1)["options"])
        for told in (one.jobs(64), one.events(1, 100), one.events(64, 100)):
            self.assertNotIn("--busy-poll", told["options"])


class Reading(unittest.TestCase):
    def test_a_report_is_read(self):
        self.assertEqual(load.parse_report("noise\n" + REPORT)["events_per_sec"], 10)

    def test_what_is_no_report_is_refused(self):
        for text in ("", "no", "{", "{}", REPORT.replace("jobs_per_sec", "x"), REPORT.replace("p50", "x"),
                     REPORT.replace('"failed":0', '"failed":null')):
            with self.subTest(text), self.assertRaises(load.LoadError):
                load.parse_report(text)

    def test_the_ready_line_is_found_in_either_form(self):
        for line in (b"ready ws://127.0.0.1:9/arcp\n", b"arcpd: ready ws://127.0.0.1:9/arcp\n"):
            self.assertEqual(READY.search(line).group(1), b"ws://127.0.0.1:9/arcp")
        self.assertIsNone(READY.search(b"not yet\n"))

    def test_a_runtime_that_ends_says_why(self):
        ended = Runtime("x", "x", ("sh", "-c", "echo out of luck >&2"))
        with self.assertRaisesRegex(load.LoadError, "out of luck"), Running(ended):
            pass

    def test_a_runtime_that_is_no_program_is_no_crash(self):
        with self.assertRaises(load.LoadError), Running(Runtime("x", "x", ("/nonexistent/program",))):
            pass

    def test_answers_are_read_and_nonsense_is_refused(self):
        self.assertEqual(questions.parse_answers('{"name":"a","ns":1.5,"yes":2}\n'), {"a": (1.5, 2)})
        for text in ("x", "{}", '{"name":"a","ns":"x","yes":1}', "[]"):
            with self.subTest(text), self.assertRaises(load.LoadError):
                questions.parse_answers(text)

    def test_a_tool_s_complaint_is_told_without_addresses(self):
        for text, want in (
            ("go: x@v1: reading https://proxy.invalid/x: 403 Forbidden\nmore",
             "go: x@v1: reading the registry: 403 Forbidden"),
            ("[INFO] fine\n[ERROR] lots: Could not find artifact a:b:jar:1 in central (https://m.invalid/x)",
             "Could not find artifact a:b:jar:1"),
            ("npm warn x\nnpm error code E404\nnpm error 404 Not Found - GET https://r.invalid/p",
             "npm error 404 Not Found - GET the registry"),
            ("ERROR: No matching distribution found for x", "ERROR: No matching distribution found for x"),
            ("one\ntwo", "two"),
            ("", "no word"),
        ):
            with self.subTest(text):
                self.assertEqual(toolchains.said(text), want)

    def test_a_tool_that_fails_or_is_missing_is_not_run(self):
        for command in (["sh", "-c", "echo error: no network >&2; exit 1"], ["/nonexistent/tool"]):
            with self.subTest(command), self.assertRaises(toolchains.NotRun):
                toolchains.run("x", command)
        with self.assertRaisesRegex(toolchains.NotRun, "no such-tool-here"):
            toolchains.need("such-tool-here")


class Questions(unittest.TestCase):
    def test_half_of_the_targets_are_covered_by_a_pattern(self):
        for count in questions.LEASES:
            literal = [one.removesuffix("/**") + "/" for one in questions.patterns(count)
                       if one.endswith("/**") and one.count("*") == 2 and "/in/" not in one]
            covered = [target for target in questions.targets(count)
                       if any(target.startswith(one) for one in literal)]
            self.assertEqual(len(covered), questions.TARGETS)
            self.assertEqual(len(questions.targets(count)), 2 * questions.TARGETS)

    def test_a_child_has_as_many_patterns_and_some_are_narrower(self):
        for count in questions.SUBSETS:
            parent, child = questions.patterns(count), questions.child(count)
            self.assertEqual(len(child), count)
            self.assertIn("/srv/t0/2026/**", child)
            self.assertTrue(all(a == b or a.startswith(b.removesuffix("**")) for a, b in zip(child, parent)))

    def test_every_question_has_a_right_answer_and_a_title(self):
        asked = questions.all_questions()
        names = [row["name"] for row in asked["leases"] + asked["subsets"]]
        self.assertEqual(names, questions.names())
        self.assertEqual(set(questions.right_answers()), set(names))
        self.assertEqual(questions.title("check/20"), "one check, 20 patterns")


def told():
    """A run of two runtimes and a bare push, in which some things went wrong."""
    ours = Runtime("host-memory", "ours, `memory:`", (), True)
    theirs = Runtime("python-memory", "Python SDK", ())
    push = Runtime("bare-push", "bare push", (), True, only_pushes=True)
    run = main.Run()
    run.rounds = 2
    for one, values in ((ours, [300, 500]), (theirs, [20, 20]), (push, [800, 800])):
        run.of(one, "events_1").values += values
        run.of(one, "events_1").client_percent += [50, 70]
    run.of(ours, "start_ms").values += [4, 6]
    run.of(theirs, "start_ms").values += [50, 50]
    run.of(theirs, "jobs_64").failures.append("it said no")
    run.of(theirs, "events_1").failed_jobs = 3
    run.of(theirs, "events_1").reconnects = 2
    run.leases = {"ours": {"check/20": Samples([100, 100])}, "python": {"check/20": Samples([2500, 2500])}}
    run.wrong = {"python": {"check/20"}}
    peer = SimpleNamespace(key="python", title="Python SDK", version="1 from PyPI")
    about = machine.facts(ROOT, Path("/nonexistent"))
    return report.Told(run, [ours, theirs, push], [peer], [("Java SDK", "no such artifact")], about, 1.2)


class Writing(unittest.TestCase):
    def test_the_section_says_medians_ranges_ratios_and_shares(self):
        text = report.section(told())
        for said in (
            "| ours, `memory:` | 400 | – |", "| ours, `memory:` | 300 – 500 |",
            "| ours, `memory:` : Python SDK | 20.0× |", "| 10.0× |", "| ours, `memory:` | 50 % | – | – |",
            "| one check, 20 patterns | 100 | 2 500 (wrong answers) | 25.0× |",
            "* not run: Java SDK: no such artifact",
            "* Python SDK, jobs, 64 in flight: no figure in 1 round(s): it said no",
            "* Python SDK, events, 1 session: 3 job(s) were refused or failed",
            "* Python SDK, events, 1 session: 2 connection(s) broke",
            "| bare push | 60 % |", "2 rounds, each measurement 1.2 s",
        ):
            with self.subTest(said):
                self.assertIn(said, text)

    def test_every_row_of_a_table_has_as_many_cells(self):
        widths = {}
        for block in report.section(told()).split("\n\n"):
            lines = [line for line in block.splitlines() if line.startswith("|")]
            self.assertLessEqual(len({len(re.findall(r"\|", line)) for line in lines}), 1, block)
            widths[len(lines)] = block
        self.assertGreater(len(widths), 1)

    def test_only_what_stands_between_the_markers_is_replaced(self):
        page = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
        once = report.put_between_markers(page, "new")
        self.assertEqual(once, f"before\n{report.BEGIN}\n\nnew\n\n{report.END}\nafter\n")
        self.assertEqual(report.put_between_markers(once, "new"), once)

    def test_a_page_without_its_markers_is_refused(self):
        for page in ("", report.BEGIN, report.END, f"{report.END}\n{report.BEGIN}",
                     f"{report.BEGIN}{report.BEGIN}{report.END}"):
            with self.subTest(page), self.assertRaises(SystemExit):
                report.check_markers(page)

    def test_the_page_of_the_tree_has_them(self):
        report.check_markers((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))

    def test_the_picture_is_well_formed_and_has_a_bar_for_each_rate(self):
        one = told()
        drawn = plot.draw(one.runtimes, one.run.samples)
        space = "{http://www.w3.org/2000/svg}"
        root = ET.fromstring(drawn)
        self.assertEqual(len(root.findall(f"{space}rect")), 1 + 3)  # the ground, and three medians
        words = [node.text for node in root.findall(f"{space}text")]
        self.assertIn("ours, memory:", words)
        self.assertIn("400", words)

    def test_the_axis_reaches_around_what_is_on_it(self):
        self.assertEqual(plot.decades([300, 45000]), (2, 5))
        self.assertEqual(plot.decades([1000, 1000]), (3, 4))
        self.assertEqual([plot.label(at) for at in (-1, 0, 4)], ["0.1", "1", "10 000"])
        for value in (100, 100000):
            self.assertTrue(plot.LEFT <= plot.place(value, 2, 5) <= plot.WIDTH - plot.RIGHT)

    def test_what_was_measured_can_be_counted_again(self):
        kept = report.raw(told())
        self.assertEqual(kept["figures"]["host-memory"]["events_1"]["values"], [300, 500])
        self.assertEqual(kept["wrong_answers"], {"python": ["check/20"]})
        self.assertEqual(kept["not_run"], {"Java SDK": "no such artifact"})


class Sandboxes(unittest.TestCase):
    def test_each_daemon_is_measured_with_and_without_sandboxes(self):
        all_of_ours = {one.key: one for one in ours("/build")}
        confined = [one for one in all_of_ours.values() if one.beside]
        self.assertEqual(len(confined), 2)
        for one in confined:
            bare = all_of_ours[one.beside]
            at = one.command.index("--enforce") + 1
            self.assertEqual((bare.command[at], one.command[at]), ("off", "on"))
            self.assertEqual(one.command[:at] + one.command[at + 1:], bare.command[:at] + bare.command[at + 1:])

    def test_what_is_left_with_sandboxes_is_a_table_of_its_own(self):
        one = told()
        self.assertEqual(report.sandboxes(one), "")
        one.runtimes.append(Runtime("sandbox", "sandboxes", (), True, beside="host-memory"))
        one.run.samples["sandbox"] = {"events_1": Samples([100])}
        self.assertIn("| sandboxes : ours, `memory:` | 0.25× | –", report.section(one))


class Rounds(unittest.TestCase):
    def test_rounds_stop_when_the_time_is_over(self):
        options = SimpleNamespace(minutes=0, rounds=5, quick=True, build=Path("/nonexistent"))
        run = main.Run()
        main.rounds(run, [Runtime("x", "x", ("/nonexistent/program",))], [], options, lambda text: None)
        self.assertEqual(run.rounds, 1)
        self.assertEqual(run.notes, ["the time was over after 1 of 5 rounds"])
        self.assertTrue(run.lacks(Runtime("x", "x", ())))

    def test_wrong_answers_are_noted(self):
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "answers"
            file.write_text('echo \'{"name": "check/20", "ns": 5, "yes": 0}\'\n', encoding="utf-8")
            run = main.Run()
            main.measure_leases(run, [("x", ("sh", str(file))), ("y", ("false",))], file, 1)
        self.assertEqual(run.wrong, {"x": {"check/20"}})
        self.assertEqual(run.leases["x"]["check/20"].values, [5.0])
        self.assertIn("lease questions, y", run.notes[0])


if __name__ == "__main__":
    unittest.main()
