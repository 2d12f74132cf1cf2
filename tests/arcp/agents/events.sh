#!/bin/sh
# Sends one event of every kind that an agent may send, then returns an object.
cat <<'END'
{"type":"job.event","payload":{"kind":"log","body":{"level":"warn","message":"careful"}}}
{"type":"job.event","payload":{"kind":"thought","body":{"text":"hm"}}}
{"type":"job.event","payload":{"kind":"progress","body":{"current":1,"total":4,"units":"files","message":"a.c"}}}
{"type":"job.event","payload":{"kind":"metric","body":{"name":"cost.inference","value":0.5,"unit":"USD"}}}
{"type":"job.event","payload":{"kind":"artifact_ref","body":{"uri":"file:///r.md","content_type":"text/markdown","byte_size":12}}}
{"type":"job.event","payload":{"kind":"x-vendor.test.thing","body":{"a":1}}}
{"type":"job.result","payload":{"result":{"n":1.50}}}
END
