"""What tests/interop/run makes of what was played: the comparison and the page."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import page  # noqa: E402

WORKS = {"works": True}
FRAME = {"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "job_id": "job_01ARZ3NDEKTSV4RRFFQ69G5FAV",
         "sent_at": "2026-01-01T00:00:00.123Z"}
FAILS = {"works": False, "why": "no pong", "frame": FRAME}


def results(**rows):
    return {"Python": {"self": {"hello": WORKS}, "client": {"hello": WORKS, **rows}}}


class Expectations(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "expected.tsv")
        page.write_expected(self.path, results(cancel=WORKS, resume=FAILS))

    def tearDown(self):
        self.folder.cleanup()

    def compare(self, now):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            worse = page.compare(self.path, now)
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
        text = "\n".join(page.gap(("Python", "client", "resume"), FAILS,
                                  results(resume=FAILS), {}))
        self.assertIn('{"id": "...", "job_id": "job_...", "sent_at": "TIME"}', text)

    def test_the_page_has_every_scenario_every_gap_and_what_was_not_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "interop.md")
            page.write(path, results(resume=FAILS), {"Python": "sdk==1"},
                       [("Go", "go-sdk", "no such module")], ["hello", "resume"], [], {})
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertIn("| hello | works | works |", text)
        self.assertIn("| resume |  | **no** |", text)
        self.assertIn("* **resume**, ours until shown otherwise.", text)
        self.assertIn("| Go | `go-sdk` | no such module |", text)


if __name__ == "__main__":
    unittest.main()
