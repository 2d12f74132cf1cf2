#!/usr/bin/env node
// An agent in JavaScript: reports progress, asks before it reads, calls a tool, returns a result.
import { Denied, serve } from './arcp-agent.mjs';

serve(async (job) => {
  await job.progress(1, 2);
  if (!await job.allowed('fs.read', '/srv/hello.txt')) {
    job.fail('PERMISSION_DENIED', 'I may not read /srv/hello.txt');
  }
  const { name } = job.input;
  const greeting = await job.tool('greet.compose', { name }, () => `hello, ${name}`).catch((error) => {
    if (error instanceof Denied) job.fail(error.code, 'I may not call greet.compose');
    throw error;
  });
  await job.progress(2, 2);
  return greeting;
});
