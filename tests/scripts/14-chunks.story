# §8.4: the runtime numbers chunks; size counts decoded bytes; order and mixing are enforced.
# [arcp:8.4-1] [arcp:8.4-2] [arcp:8.4-3] [arcp:8.4-4] [arcp:8.4-5] [arcp:8.4-7] [arcp:8.4-8]
# [arcp:8.4-10] [arcp:8.4-11]
hello a alice
a> job.submit #1 {"agent":"echo"}
a< job.accepted {"job_id":"$j"}
a< job.event
agent $j< {"type":"job.start"}
agent $j> {"type":"result.chunk","id":"1","payload":{"data":"héllo","encoding":"utf8","more":true}}
a< {"payload":{"kind":"result_chunk",
    "body":{"result_id":"$r","chunk_seq":0,"data":"héllo","encoding":"utf8","more":true}}}
agent $j< {"re":"1","payload":{}}
agent $j> {"type":"result.chunk","id":"2","payload":{"data":"ab*=","encoding":"base64","more":true}}
agent $j< {"re":"2","payload":{"error":{"code":"INVALID_REQUEST"}}}
agent $j> {"type":"job.event","payload":{"kind":"result_chunk",
    "body":{"data":"AAEC","encoding":"base64","more":false}}}
a< {"payload":{"body":{"result_id":"$r","chunk_seq":1,"encoding":"base64","more":false}}}
agent $j> {"type":"job.result","payload":{"summary":"s"}}
a< job.result {"payload":{"result_id":"$r","result_size":9,"summary":"s","result":"$absent"}}
# The runtime closes a stream that its agent left open.
a> job.submit #2 {"agent":"echo"}
a< job.accepted {"job_id":"$k"}
a< job.event
agent $k> {"type":"result.chunk","payload":{"data":"x","encoding":"utf8","more":true}}
a< {"payload":{"body":{"chunk_seq":0}}}
agent $k exits 0
a< {"payload":{"body":{"chunk_seq":1,"data":"","more":false}}}
a< job.result {"payload":{"result_size":1}}
# An inline result after chunks, and a chunk after the last one.
a> job.submit #3 {"agent":"echo"}
a< job.accepted {"job_id":"$m"}
a< job.event
agent $m> {"type":"result.chunk","payload":{"data":"x","encoding":"utf8","more":false}}
a< {"payload":{"body":{"more":false}}}
agent $m> {"type":"job.result","payload":{"result":1}}
a< job.error {"payload":{"code":"INTERNAL_ERROR"}}
a> job.submit #4 {"agent":"echo"}
a< job.accepted {"job_id":"$n"}
a< job.event
agent $n> {"type":"result.chunk","payload":{"data":"x","encoding":"utf8","more":false}}
a< {"payload":{"body":{"more":false}}}
agent $n> {"type":"result.chunk","payload":{"data":"x","encoding":"utf8","more":false}}
a< job.error {"payload":{"code":"INTERNAL_ERROR"}}
