"""Texts and frames without the parts that differ between runs."""
import json
import re

MASKS = [(r"\b((?:[a-z]+_)*)[0-9A-HJKMNP-TV-Z]{26}\b", r"\1..."),
         (r"\b((?:[a-z]+_)*)[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", r"\1..."),
         (r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00|\.\.\.)", "TIME"),
         (r"\d{4}-\d\d-\d\dT[\d:.]+([+-]\d\d:\d\d)", r"TIME\1"),
         (r"\b[0-9a-f]{32}\b", "TRACE"),
         (r"\b[0-9a-f]{16}\b", "KEY"),
         (r"\bcred_\d+\b", "cred_..."),
         (r"/tmp/[\w./-]+", "FILE"),
         (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT")]
FRAME_SHOWN_MAX = 700


def masked(text):
    for pattern, instead in MASKS:
        text = re.sub(pattern, instead, text)
    return text


def frame_lines(frame):
    """A frame under a list item, as text or as an object; nothing without a frame."""
    if frame is None:
        return []
    text = masked(frame if isinstance(frame, str) else json.dumps(frame, ensure_ascii=False))
    shown = text if len(text) < FRAME_SHOWN_MAX else text[:FRAME_SHOWN_MAX] + " ..."
    return ["", "  ```json", "  " + shown, "  ```", ""]
