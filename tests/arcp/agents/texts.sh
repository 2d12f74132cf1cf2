#!/bin/sh
# Long, wide and hostile texts; a cost; a result.
cat <<'END'
{"type":"job.event","payload":{"kind":"log","body":{"level":"info","message":"looking at the files of the directory that was named in the input, one after the other"}}}
{"type":"job.event","payload":{"kind":"log","body":{"level":"warn","message":"日本語のテキストと全角文字 and a few words, 漢字かな交じり文がここにあります"}}}
{"type":"job.event","payload":{"kind":"log","body":{"level":"error","message":"hostile \u001b[31mred\u001b]0;title\u0007 \u202eturned\r\nnext line \u009b2J combine\u0301d"}}}
{"type":"job.event","payload":{"kind":"thought","body":{"text":"the user probably wants to know which of the files are large"}}}
{"type":"job.event","payload":{"kind":"tool_call","body":{"tool":"web.search","args":{"q":"how to read a long text on a narrow terminal"},"call_id":"c1"}}}
{"type":"job.event","payload":{"kind":"tool_result","body":{"call_id":"c1","result":{"hits":3}}}}
{"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.inference","value":0.5,"unit":"USD"}}}
{"type":"job.event","payload":{"kind":"artifact_ref","body":{"uri":"file:///srv/projects/a-rather-long-name/reports/2026/11/report.md","content_type":"text/markdown","byte_size":1234}}}
{"type":"job.event","payload":{"kind":"x-vendor.test.thing","body":{"member":"of an event that arcp does not know"}}}
{"type":"job.result","payload":{"result":{"text":"done"}}}
END
