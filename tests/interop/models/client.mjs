// An agent that calls a model by the SDKs for Node, which find the gateway in the environment.
//
//     client.mjs SDK CASE PACKAGES
//
// SDK is openai or anthropic; PACKAGES is the directory node_modules. As client.py.
import { createRequire } from "node:module";

const [sdk, kind, packages] = process.argv.slice(2);
const require = createRequire(packages + "/");
const says = "pong and more";
const ping = [{ role: "user", content: "ping" }];
const results = {};

function note(name, text, tokens) {
    results[name] = text === says && tokens === 10 ? "works" : `${text} ${tokens}`;
}

async function withOpenai(model) {
    const OpenAI = require("openai").default;
    const client = new OpenAI();
    const chat = await client.chat.completions.create({ model, messages: ping, max_tokens: 300 });
    note("chat", chat.choices[0].message.content, chat.usage.completion_tokens);
    let text = "";
    for await (const chunk of await client.chat.completions.create({ model, messages: ping, max_tokens: 300, stream: true })) {
        text += chunk.choices[0].delta.content ?? "";
    }
    note("chat, streamed", text.trim(), 10);
    const answer = await client.responses.create({ model, input: "ping", max_output_tokens: 300 });
    note("responses", answer.output_text, answer.usage.output_tokens);
    const vectors = await client.embeddings.create({ model: "vector", input: ["a", "b"] });
    note("embeddings", vectors.data[1].embedding[1] === -0.5 ? says : "", 10);
}

async function withAnthropic(model) {
    const Anthropic = require("@anthropic-ai/sdk").default;
    const client = new Anthropic();
    const answer = await client.messages.create({ model, messages: ping, max_tokens: 300 });
    note("messages", answer.content[0].text, answer.usage.output_tokens);
    const final = await client.messages.stream({ model, messages: ping, max_tokens: 300 }).finalMessage();
    note("messages, streamed", final.content[0].text.trim(), final.usage.output_tokens);
}

const [play, model] = sdk === "openai" ? [withOpenai, "gpt-x"] : [withAnthropic, "claude-x"];
try {
    await play(kind === "denied" ? model + "-denied" : model);
} catch (error) {
    results.error = [error.status ?? null, String(error.message)];
}
console.log(JSON.stringify(results));
