"""An MCP server whose tools have descriptions of all kinds."""
import json
import sys

TOOLS = {
    "search": "Searches the pages of a site for words, and returns the titles and addresses of those that have all of them.\nA second line.",
    "翻訳": "日本語のテキストを英語に翻訳し、結果を一つの文字列として返します",
    "a-tool-with-a-name-that-is-longer-than-its-column": "\x1b[31mred\x1b]0;title\x07",
    "silent": None,
}

for line in sys.stdin:
    message = json.loads(line)
    result = {}
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "texts", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} | ({"description": text} if text else {})
                            for name, text in TOOLS.items()]}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
