#!/usr/bin/env node
// An agent in JavaScript: reports progress, asks before it reads, calls a tool, returns a result.
'use strict';
const lines = require('readline').createInterface({ input: process.stdin })[Symbol.asyncIterator]();

function say(type, payload, id) {
  process.stdout.write(JSON.stringify({ type, id, payload }) + '\n');
}

async function read() {
  const { value, done } = await lines.next();
  if (done) process.exit(1);
  return JSON.parse(value);
}

// Sends a line and waits for the response.
async function ask(type, payload, id) {
  say(type, payload, id);
  for (;;) {
    const message = await read();
    if (message.type === 'job.cancel') process.exit(1);
    if (message.re === id) return message.payload;
  }
}

const event = (kind, body) => say('job.event', { kind, body });

async function main() {
  const { name } = (await read()).payload.input;
  event('progress', { current: 1, total: 2 });
  let answer = await ask('authorize', { capability: 'fs.read', target: '/srv/hello.txt' }, '1');
  let wanted = 'read /srv/hello.txt';
  if (!answer.error) {
    wanted = 'call greet.compose';
    const body = { tool: 'greet.compose', call_id: 'c1', args: { name } };
    answer = await ask('job.event', { kind: 'tool_call', body }, '2');
  }
  if (answer.error) {
    say('job.error', { code: answer.error.code, message: 'I may not ' + wanted });
  } else {
    const greeting = 'hello, ' + name;
    event('tool_result', { call_id: 'c1', result: greeting });
    event('progress', { current: 2, total: 2 });
    say('job.result', { result: greeting });
  }
  process.stdin.destroy(); // nothing more to wait for
}

main();
