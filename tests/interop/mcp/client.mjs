// The Node SDK's client: lists the tools of a server, calls some, and prints what comes as JSON.
//
//   client.mjs PACKAGES CALLS COMMAND...
//
// PACKAGES is the directory of the SDK; CALLS is JSON: [[name, arguments], ...].
// A name like prompts/get is a method, whose result is the answer. `http URL KEY` in place of a command: a server that is reached by streamable HTTP.
import path from "node:path";
import { pathToFileURL } from "node:url";

const [packages, calls, command, ...args] = process.argv.slice(2);
const load = (name) =>
  import(pathToFileURL(path.join(packages, "@modelcontextprotocol/sdk/dist/esm/client", name)).href);
const { Client } = await load("index.js");
const { StdioClientTransport } = await load("stdio.js");
const { StreamableHTTPClientTransport } = await load("streamableHttp.js");

const client = new Client({ name: "interop", version: "1" }, { capabilities: { sampling: {}, roots: {} } });
const progress = [];
const onprogress = (report) => progress.push([report.progress, report.total]);
const headers = { Authorization: `Bearer ${args[1]}` };
await client.connect(
  command === "http"
    ? new StreamableHTTPClientTransport(new URL(args[0]), { requestInit: { headers } })
    : new StdioClientTransport({ command, args }),
);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const answers = [];
const fetched = {
  "resources/list": () => client.listResources(),
  "resources/templates/list": () => client.listResourceTemplates(),
  "prompts/list": () => client.listPrompts(),
  "resources/read": (parameters) => client.readResource(parameters),
  "prompts/get": (parameters) => client.getPrompt(parameters),
  "completion/complete": (parameters) => client.complete(parameters),
};
for (const [name, parameters] of JSON.parse(calls)) {
  if (fetched[name] !== undefined) {
    await fetched[name](parameters).then(
      (result) => answers.push([false, result]),
      (error) => answers.push([true, error.data]),
    );
    continue;
  }
  const result = await client.callTool({ name, arguments: parameters }, undefined, { onprogress });
  answers.push([result.isError === true, result.content[0].text]);
}
await client.close();
console.log(JSON.stringify({ tools, answers, progress }));
