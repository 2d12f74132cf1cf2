"""An MCP server with resources, templates, prompts and completions, over standard input and output. With an argument it does what
it must not: its lists do not end ("endless"), are no lists ("garbage"), or it answers with resources that were not asked for ("others")."""
import json
import sys

HOW = sys.argv[1] if len(sys.argv) > 1 else ""
URIS = ["demo://one", "file:///srv/docs/a.txt", "file:///srv/docs/a%20b.txt", "file:///srv/other/c", "file:///srv/docs/../other/c",
        "https://docs.example.com/x", "https://intranet.example.com/x", "no scheme"]


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")), flush=True)


def lists(name, key, values, cursor):
    """Two pages."""
    if HOW == "garbage":
        return {name: "none"}
    at = int(cursor or 0)
    items = [{key: value, "name": "of " + value} if key != "name" else {key: value} for value in values[at:at + 4]]
    more = at + 4 < len(values) or HOW == "endless"
    return {name: items + [{key: 5}, "an item"], **({"nextCursor": str(at + 4)} if more else {})}


def answer(method, params):
    cursor = params.get("cursor")
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "serverInfo": {"name": "r", "version": "1"},
                "capabilities": {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}}}
    if method == "tools/list":
        return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    if method == "resources/list":
        return lists("resources", "uri", URIS, cursor)
    if method == "resources/templates/list":
        return lists("resourceTemplates", "uriTemplate", ["demo://{id}", "file:///{+path}"], cursor)
    if method == "prompts/list":
        return lists("prompts", "name", ["review", "odd name__x"], cursor)
    if method == "resources/read":
        if HOW == "others":
            return {"resultType": "input_required", "inputRequests": {}}
        return {"contents": [{"uri": params["uri"], "text": "read " + json.dumps(params)}]}
    return {"messages": [{"role": "user", "content": {"type": "text", "text": method + " " + json.dumps(params)}}]}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        send({"id": request["id"], "result": answer(request["method"], request["params"])})
