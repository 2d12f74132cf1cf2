"""Tests of page.py: the comparison and the page."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import conformance  # noqa: E402
import page  # noqa: E402

WORKS = {"works": True}
FRAME = {"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "job_id": "job_01ARZ3NDEKTSV4RRFFQ69G5FAV",
         "sent_at": "2026-01-01T00:00:00.123Z"}
FAILS = {"works": False, "why": "no pong", "frame": FRAME}
# Rows of `arcp conformance --json`.
PASS = {"result": "pass", "section": "6.4", "case": "a ping is answered"}
FAIL = {"result": "fail", "section": "8.3", "case": "a ping is answered", "why": "event_seq 3 follows 1",
        "frame": '{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}'}
OPEN = {"result": "differs", "section": "6.3", "case": "a resume", "why": "no answer", "frame": None,
        "left_open": "what it carries"}
SKIP = {"result": "skip", "section": "6.5", "case": "an ack", "why": "ack was not negotiated"}


def results(**rows):
    return {"Python": {"self": {"hello": WORKS}, "client": {"hello": WORKS, **rows}}}


class Expectations(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "expected.tsv")
        page.write_expected(self.path, results(cancel=WORKS, resume=FAILS))

    def tearDown(self):
        self.folder.cleanup()

    def compare(self, now, **more):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            worse = page.compare(self.path, now, **more)
        return worse, said.getvalue()

    def test_what_is_as_expected_is_not_worse(self):
        self.assertEqual(self.compare(results(cancel=WORKS, resume=FAILS))[0], 0)

    def test_what_does_not_work_any_more_is_worse_and_named(self):
        worse, said = self.compare(results(cancel=FAILS, resume=FAILS))
        self.assertEqual(worse, 1)
        self.assertIn("WORSE: Python client cancel: no pong", said)

    def test_what_was_not_played_is_worse(self):
        worse, said = self.compare(results(resume=FAILS))
        self.assertEqual(worse, 1)
        self.assertIn("cancel was not played", said)

    def test_a_check_does_not_ask_for_an_sdk_with_its_own_runtime(self):
        now = {"Python": {"client": {"hello": WORKS, "cancel": WORKS, "resume": FAILS}}}
        self.assertEqual(self.compare(now)[0], 1)
        self.assertEqual(self.compare(now, is_check=True)[0], 0)

    def test_a_check_asks_for_the_other_pairs_and_for_our_client_with_arcpd(self):
        now = {"Python": {"client": {"hello": WORKS, "resume": FAILS}}}
        worse, said = self.compare(now, is_check=True)
        self.assertEqual(worse, 1)
        self.assertIn("Python client cancel was not played", said)
        page.write_expected(self.path, {"C": {"self": {"hello": WORKS, "close": WORKS}}})
        self.assertEqual(self.compare({"C": {"self": {"hello": WORKS}}}, is_check=True)[0], 1)

    def test_what_nobody_expected_has_to_work(self):
        self.assertEqual(self.compare(results(cancel=WORKS, resume=FAILS, list=FAILS))[0], 1)
        self.assertEqual(self.compare(results(cancel=WORKS, resume=FAILS, list=WORKS))[0], 0)

    def test_what_works_now_is_named_and_not_worse(self):
        worse, said = self.compare(results(cancel=WORKS, resume=WORKS))
        self.assertEqual(worse, 0)
        self.assertIn("better: Python client resume works", said)

    def test_an_sdk_that_was_not_run_is_not_worse(self):
        self.assertEqual(self.compare({"C": {"self": {}}})[0], 0)

    def test_accepting_keeps_what_was_said_by_hand(self):
        with open(self.path, encoding="utf-8") as file:
            text = file.read().replace("resume\tfails", "resume\tfails\tthe SDK's\tIt forgets.")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        page.write_expected(self.path, results(cancel=WORKS, resume=FAILS))
        key = ("Python", "client", "resume")
        self.assertEqual(page.read_expected(self.path)[key],
                         ("fails", "the SDK's", "It forgets."))
        page.write_expected(self.path, results(cancel=WORKS, resume=WORKS))
        self.assertEqual(page.read_expected(self.path)[key], ("works", "", ""))


class Page(unittest.TestCase):
    def side(self, own, expected):
        now = {"Python": {"self": {"resume": own}, "client": {"resume": FAILS}}}
        return page.side_of(("Python", "client", "resume"), now, expected)[0]

    def test_what_its_own_pair_fails_at_is_the_sdks(self):
        self.assertEqual(self.side(FAILS, {}), "the SDK's")

    def test_what_its_own_pair_can_do_is_ours_until_somebody_shows_otherwise(self):
        self.assertEqual(self.side(WORKS, {}), "ours until shown otherwise")
        said = {("Python", "client", "resume"): ("fails", "the draft's", "It says nothing.")}
        self.assertEqual(self.side(WORKS, said), "the draft's")

    def test_frames_are_shown_without_what_differs_in_every_run(self):
        text = "\n".join(page.gap([("Python", "client", "resume")], FAILS,
                                  results(resume=FAILS), {}))
        self.assertIn('{"id": "...", "job_id": "job_...", "sent_at": "TIME"}', text)

    def test_what_differs_in_every_run_is_masked(self):
        for text, instead in (("cred_job_01ARZ3NDEKTSV4RRFFQ69G5FAV", "cred_job_..."), ("cred_23", "cred_..."),
                              ("2026-11-21T16:49:33.97569...", "TIME"), ("2026-11-21T16:49:33+00:00", "TIME"),
                              ("2026-11-21T18:50:42.782+01:00", "TIME+01:00"), ("greet@2.0.0", "greet@2.0.0"),
                              ("01a1fef0-0eaa-7591-af89-9d0350e12cd7", "..."), ("result_size", "result_size"),
                              ("res_ee84d8be-72e6-4379-9e40-ff265e8a5494", "res_..."), ('"86e1b79400913209"', '"KEY"')):
            self.assertEqual(page.masked(text), instead)

    def test_the_page_has_every_scenario_every_gap_and_what_was_not_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "interop.md")
            page.write(path, results(resume=FAILS), {"C": [PASS]}, {"Python": "sdk==1"},
                       [("Go", "go-sdk", "no such module")], ["hello", "resume"], [], {})
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertIn("| hello | works | works |", text)
        self.assertIn("| resume |  | **no** |", text)
        self.assertIn("* **resume**, ours until shown otherwise.", text)
        self.assertIn("| Go | `go-sdk` | no such module |", text)
        self.assertIn("| 6.4 | a ping is answered | ok |", text)

    def test_gaps_of_one_reason_are_shown_once(self):
        key = ("Python", "client", "cancel"), ("Python", "client", "resume")
        said = {one: ("fails", "the SDK's", "It forgets.") for one in key}
        now = {"Python": {"client": {"cancel": FAILS, "resume": FAILS, "ack": FAILS}}}
        text = "\n".join(page.gaps("Python", now, said, ""))
        self.assertIn("* **cancel, resume**, the SDK's. It forgets.", text)
        self.assertIn("* **ack**, ours until shown otherwise.", text)
        self.assertEqual(text.count("```json"), 2)

    def test_remarks_are_written_once(self):
        rows = {name: {"works": True, "remark": "it was late"} for name in ("ack", "list")}
        self.assertEqual(page.remarks("Go", {"Go": {"client": rows, "self": {"ack": WORKS}}}),
                         ["Seen besides (its client, `arcpd`): it was late."])


class Conformance(unittest.TestCase):
    def compare(self, *rows):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            worse = conformance.compare(rows)
        return worse, said.getvalue()

    def test_our_runtime_has_to_keep_every_case(self):
        self.assertEqual(self.compare(PASS)[0], 0)
        worse, said = self.compare(PASS, FAIL, OPEN, SKIP)
        self.assertEqual(worse, 3)
        self.assertIn("WORSE: arcpd, conformance, 8.3 a ping is answered: event_seq 3 follows 1", said)
        self.assertIn("arcpd keeps 1 of 4 cases", said)

    def test_a_peers_failures_are_counted_and_fail_nothing(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertIsNone(conformance.said("Go", [PASS, FAIL, OPEN, SKIP]))
        self.assertIn("keeps 1 of 4 cases, 1 have another form, 1 fail, 1 not applicable", said.getvalue())

    def test_a_run_that_does_not_come_to_its_end_fails(self):
        whole = "\n".join(map(json.dumps, (PASS, {"runtime": "x", "passed": 1})))
        self.assertEqual(conformance.rows_of(whole), [PASS])
        rows = conformance.rows_of(json.dumps(PASS) + "\narcp: no session\n")
        self.assertEqual(rows[0], PASS)
        self.assertEqual((rows[1]["result"], rows[1]["why"]), ("fail", "arcp: no session"))
        self.assertEqual(conformance.rows_of("")[0]["result"], "fail")

    def section(self, notes=None):
        found = {"C": [PASS, {**PASS, "case": "a resume", "section": "6.3"}, {**SKIP, "result": "pass"}],
                 "Go": [FAIL, OPEN, SKIP]}
        return "\n".join(conformance.section(found, notes or {}))

    def test_each_case_has_a_line_with_a_cell_for_each_runtime(self):
        text = self.section()
        self.assertIn("| § | case | `arcpd` | Go |", text)
        self.assertIn("| 6.4 | a ping is answered | ok | **fails** |", text)
        self.assertIn("| 6.3 | a resume | ok | other form |", text)
        self.assertIn("| 6.5 | an ack | ok | n/a |", text)
        self.assertNotIn("### Conformance: `arcpd`", text)

    def test_a_failure_has_its_side_and_its_frame(self):
        text = self.section()
        self.assertIn("* **a ping is answered** (§8.3), the SDK's.\n  Seen: event_seq 3 follows 1.", text)
        self.assertIn('  {"id":"..."}', text)
        self.assertIn("* **a resume** (§6.3), no failure: the draft leaves open what it carries.", text)
        self.assertIn("* **an ack** (§6.5), not applicable: ack was not negotiated.", text)
        said = {("Go", "conformance", "a ping is answered"): ("fails", "the draft's", "It says nothing.")}
        self.assertIn("* **a ping is answered** (§8.3), the draft's. It says nothing.", self.section(said))

    def test_accepting_keeps_what_was_said_of_it_by_hand(self):
        key = ("Python", "conformance", "a resume")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "expected.tsv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("\t".join(key + ("fails", "the SDK's", "It has none.")) + "\n")
            page.write_expected(path, results())
            self.assertEqual(page.read_expected(path)[key], ("fails", "the SDK's", "It has none."))


if __name__ == "__main__":
    unittest.main()
