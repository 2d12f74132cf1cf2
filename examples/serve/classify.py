#!/usr/bin/env python3
"""Jobs of one process: what takes long is loaded once, and then serves them all."""
import asyncio

import arcp_agent

WORDS = {"good": 1, "fine": 1, "bad": -1, "slow": -1}  # a model that takes a minute to load
served = 0


async def classify(job):
    global served
    served += 1
    number = served
    await job.progress(0, total=1, message=f"job {number} of this process")
    if job.input.get("wait"):
        await asyncio.sleep(3600)  # ends when the job is cancelled
    score = sum(WORDS.get(word, 0) for word in job.input["text"].split())
    return {"label": "positive" if score > 0 else "negative" if score < 0 else "neutral", "job": number}


arcp_agent.serve(classify)
