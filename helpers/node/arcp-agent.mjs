// Agents of arcpd in JavaScript, in one file without dependencies.
//
//     import { serve } from 'arcp-agent';
//     serve(async (job) => `hello, ${job.input.name}`);
//
// arcpd starts this program for a job (`mode: arcp`), or for many jobs at the same time (`mode: serve`); the
// same handler does for both. It gets the job, and what it returns is the result. An exception ends the job with
// an error, Denied and Refused with the runtime's own code; its stack is on standard error, which goes to
// arcpd's log. From the import on, console.log writes to standard error.
import process from 'node:process';
import { isatty } from 'node:tty';
import { StringDecoder } from 'node:string_decoder';

const OF_AUTHORITY = ['PERMISSION_DENIED', 'LEASE_EXPIRED', 'BUDGET_EXHAUSTED', 'LEASE_SUBSET_VIOLATION'];
const CHUNK_BYTES = 256 * 1024; // of a streamed result; limits.chunk_bytes is 1 MiB

// The runtime answered with an error, or (thrown by job.fail) the job ends with this one.
export class Refused extends Error {
  constructor(code, message, { retryable, details } = {}) {
    super(`${code}: ${message}`);
    this.name = this.constructor.name;
    this.code = code;
    this.reason = message;
    this.retryable = retryable;
    this.details = details ?? {};
  }
}

// The lease or the budget does not allow it.
export class Denied extends Refused {
  get granted() {
    return this.details.granted ?? [];
  }
}

// Thrown by job.fail(): the job ends with this error.
export class Failure extends Refused {}

// Throw it to end a job that was cancelled. Also thrown by calls that wait when arcpd has gone.
export class Cancelled extends Error {
  constructor(message = 'cancelled') {
    super(message);
    this.name = 'Cancelled';
  }
}

// ---- JSON with exact amounts ----

// A number that is written as this text.
class Exact {
  constructor(text) {
    this.text = text;
  }
}

function amountOf(amount) {
  if (typeof amount !== 'bigint' && typeof amount !== 'string') {
    throw new TypeError('an amount is a string or a bigint: a number is not exact');
  }
  const text = String(amount);
  if (!/^(0|[1-9]\d*)(\.\d+)?$/.test(text)) {
    throw new RangeError(`${JSON.stringify(text)} is not an amount such as "0.25"`);
  }
  return new Exact(text);
}

function encode(value) {
  if (value instanceof Exact) return value.text;
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${value} is no number of JSON`);
  if (Array.isArray(value)) return `[${value.map((one) => encode(one) ?? 'null').join(',')}]`;
  if (value !== null && typeof value === 'object' && typeof value.toJSON !== 'function') {
    const members = Object.entries(value).map(([name, one]) => [name, encode(one)]);
    return `{${members.filter(([, one]) => one !== undefined)
      .map(([name, one]) => `${JSON.stringify(name)}:${one}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

// The line with its numbers as strings, exact as they were written.
function withExactNumbers(line) {
  return JSON.parse(line.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g,
    (token) => (token[0] === '"' ? token : `"${token}"`)));
}

function isObject(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

// A member that is null is the same as one that is absent.
function withoutNulls(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

// ---- lines ----

// The lines of one job, and the replies that it waits for. `jobId` is undefined for the only job of a process.
class Lines {
  #write;
  #jobId;
  #waiting = new Map(); // null: no reply comes any more
  #why = '';
  #lastId = 0;

  constructor(write, jobId) {
    this.#write = write;
    this.#jobId = jobId;
  }

  write(type, payload, id) {
    const text = `${encode({ type, job_id: this.#jobId, id, payload })}\n`;
    return new Promise((resolve, reject) => {
      this.#write(text, (error) => (error ? reject(error) : resolve()));
    });
  }

  // The payload of the reply; rejects with Refused, Denied or Cancelled.
  ask(type, payload) {
    return new Promise((resolve, reject) => {
      if (this.#waiting === null) {
        reject(new Cancelled(this.#why));
        return;
      }
      const id = String(++this.#lastId);
      this.write(type, payload, id).catch(reject);
      this.#waiting.set(id, { resolve, reject });
    });
  }

  takeReply(id, payload, line) {
    const waiting = this.#waiting?.get(String(id));
    this.#waiting?.delete(String(id));
    if (payload.error !== undefined && payload.error !== null && payload.job_id === undefined) {
      const { code = 'INTERNAL_ERROR', message = '', retryable, details } = payload.error ?? {};
      const Kind = OF_AUTHORITY.includes(code) ? Denied : Refused;
      waiting?.reject(new Kind(code, message, { retryable, details }));
    } else {
      if (isObject(payload.budget)) payload.budget = withExactNumbers(line).payload.budget;
      waiting?.resolve(payload);
    }
  }

  end(why) {
    const waiting = this.#waiting;
    this.#waiting = null;
    this.#why ||= why;
    waiting?.forEach(({ reject }) => reject(new Cancelled(why)));
  }
}

// ---- the job ----

class Stream {
  #job;
  #held = '';
  #isClosed = false;

  constructor(job) {
    this.#job = job;
  }

  #send(data, more) {
    const isText = typeof data === 'string';
    return this.#job._ask('result.chunk', {
      data: isText ? data : Buffer.from(data).toString('base64'), encoding: isText ? 'utf8' : 'base64', more,
    });
  }

  // A string, or bytes. The last piece is kept, because it says that it is the last.
  async write(data) {
    if (this.#isClosed) throw new Error('the stream is closed');
    const held = this.#held;
    const isSame = (typeof held === 'string') === (typeof data === 'string');
    if (held.length > 0 && !isSame) await this.#send(held, true);
    if (held.length === 0 || !isSame) this.#held = data;
    else this.#held = typeof data === 'string' ? held + data : Buffer.concat([held, data]);
    while (this.#held.length > CHUNK_BYTES) {
      let size = CHUNK_BYTES;
      // The two halves of a character stay together.
      if (typeof this.#held === 'string' && (this.#held.charCodeAt(size - 1) & 0xfc00) === 0xd800) size -= 1;
      const piece = this.#held.slice(0, size);
      this.#held = this.#held.slice(size);
      await this.#send(piece, true);
    }
  }

  async close() {
    if (!this.#isClosed) {
      this.#isClosed = true;
      await this.#send(this.#held, false);
    }
  }
}

class Job {
  #lines;
  #abort = new AbortController();
  #calls = 0;

  constructor(lines, line) {
    const start = withoutNulls(JSON.parse(line).payload ?? {});
    this.#lines = lines;
    this.isStreamed = false;
    this.id = start.job_id;
    this.agent = start.agent;
    this.input = start.input ?? null;
    this.lease = start.lease ?? {};
    this.expiresAt = start.lease_constraints?.expires_at ?? undefined;
    this.budget = withExactNumbers(line).payload?.budget ?? {};
    this.credentials = start.credentials ?? [];
    this.endpoints = start.endpoints ?? {};
    this.cwd = start.cwd ?? null;
    this.traceId = start.trace_id;
    this.traceparent = start.traceparent;
    this.parentId = start.parent_job_id;
    this.features = start.features ?? [];
    this.cancellation = null; // {reason, message, graceMs} once the job is cancelled
  }

  get signal() {
    return this.#abort.signal;
  }

  _cancel({ reason, message, grace_ms: graceMs }) {
    this.cancellation ??= { reason, message, graceMs };
    this.#abort.abort(new Cancelled(message ?? reason));
  }

  _ask(type, payload) {
    return this.#lines.ask(type, payload);
  }

  #event(kind, body) {
    return this.#lines.write('job.event', { kind, body });
  }

  // Asks before an operation; throws Denied when the lease does not allow it.
  async authorize(capability, target) {
    const reply = await this._ask('authorize', { capability, target });
    if (reply.allow !== true) throw new Denied('PERMISSION_DENIED', `${capability} of ${target} was not allowed`);
  }

  async allowed(capability, target) {
    try {
      await this.authorize(capability, target);
      return true;
    } catch (error) {
      if (error instanceof Denied) return false;
      throw error;
    }
  }

  log(message, level = 'info') {
    return this.#event('log', { level, message: String(message) });
  }

  thought(text) {
    return this.#event('thought', { text });
  }

  status(phase, message) {
    return this.#event('status', { phase, message });
  }

  progress(current, total, { units, message } = {}) {
    return this.#event('progress', { current, total, units, message });
  }

  metric(name, value, { unit, dimensions } = {}) {
    return this.#event('metric', { name, value, unit, dimensions });
  }

  artifact(uri, contentType, { byteSize, sha256 } = {}) {
    return this.#event('artifact_ref', { uri, content_type: contentType, byte_size: byteSize, sha256 });
  }

  // An event of any kind, such as x-vendor.example.step; throws Refused when it is not valid.
  async event(kind, body) {
    await this._ask('job.event', { kind, body });
  }

  // Charges the budget, as the metric cost.WHAT; what can still be spent, by currency, as strings.
  async spend(currency, amount, what = 'agent') {
    const reply = await this._ask('job.event', {
      kind: 'metric', body: { name: `cost.${what}`, value: amountOf(amount), unit: currency },
    });
    this.budget = reply.budget ?? this.budget;
    return this.budget;
  }

  // Calls a tool: throws Denied when the lease does not allow tool.call of `name`. What `call` returns is
  // recorded and returned; what it throws is recorded, too.
  async tool(name, args, call) {
    const callId = `call-${++this.#calls}`;
    await this._ask('job.event', { kind: 'tool_call', body: { tool: name, call_id: callId, args: args ?? {} } });
    try {
      const result = (await call()) ?? null;
      await this.#event('tool_result', { call_id: callId, result });
      return result;
    } catch (error) {
      const { code = 'INTERNAL_ERROR', message } = error instanceof Refused
        ? { code: error.code, message: error.reason } : { message: `${error?.name}: ${error?.message}` };
      await this.#event('tool_result', { call_id: callId, error: { code, message } });
      throw error;
    }
  }

  // Starts a job of another agent, whose lease lies within this job's. With `wait` it resolves when the
  // child has ended, however it did: {jobId, finalStatus, result, summary, error}.
  async delegate(agent, input, { lease, expiresAt, delegateId, wait = true } = {}) {
    const reply = await this._ask('delegate', {
      agent, input: input ?? null, lease_request: lease, wait, delegate_id: delegateId,
      lease_constraints: expiresAt === undefined ? undefined : { expires_at: expiresAt },
    });
    const { job_id: jobId, final_status: finalStatus, result, summary, error } = reply;
    return { jobId, finalStatus, result, summary, error };
  }

  // A long result, piece by piece: write() and close(), which are awaited. The handler then returns nothing,
  // or a string, which is the summary.
  stream() {
    this.isStreamed = true;
    return new Stream(this);
  }

  // Ends the job with this error (throws Failure).
  fail(code, message, more) {
    throw new Failure(code, message, more);
  }
}

// ---- the process ----

const { stdout, stderr } = process;
const writeOut = stdout.write.bind(stdout);
stdout.write = stderr.write.bind(stderr);

function endWith(job, error) {
  if (error instanceof Cancelled || (job.signal.aborted && error?.name === 'AbortError')) {
    const { message, reason } = job.cancellation ?? {};
    return ['job.error', { code: 'CANCELLED', message: message ?? reason ?? error.message }];
  }
  if (error instanceof Refused) {
    const { code, reason: message, retryable, details } = error;
    const hasDetails = Object.keys(details).length > 0;
    return ['job.error', { code, message, retryable, details: hasDetails ? details : undefined }];
  }
  stderr.write(`${error?.stack ?? error}\n`);
  return ['job.error', { code: 'INTERNAL_ERROR', message: `${error?.name ?? 'Error'}: ${error?.message ?? error}` }];
}

async function run(lines, job, handler) {
  let end;
  try {
    const result = await handler(job);
    if (!job.isStreamed) end = ['job.result', { result: result ?? null }];
    else end = ['job.result', typeof result === 'string' ? { summary: result } : {}];
  } catch (error) {
    end = endWith(job, error);
  }
  try {
    await lines.write(...end);
  } catch (error) { // the result is no JSON
    await lines.write(...endWith(job, error));
  }
}

const GONE = 'arcpd has closed the connection';

// Runs the handler for the job that arcpd gives to this process, and ends the process when the handler has
// ended; or for all jobs that it gives (`mode: serve`), and ends it when arcpd has closed the connection.
export function serve(handler) {
  if (isatty(0)) {
    stderr.write('This program is an agent: arcpd starts it for each job, and writes the job to its standard '
      + 'input. docs/writing-agents.md shows how to try it by hand.\n');
    process.exit(1);
  }
  const decoder = new StringDecoder('utf8');
  const jobs = new Map(); // by id; undefined: the only job
  let isServed = false;
  let isOver = false;
  let rest = '';

  function endIfOver() {
    if (jobs.size === 0 && (isOver || !isServed)) process.exit(0);
  }

  function start(jobId, line) {
    const lines = new Lines(writeOut, jobId);
    const job = new Job(lines, line);
    isServed = jobId !== undefined;
    jobs.set(jobId, { job, lines });
    run(lines, job, handler).finally(() => {
      lines.end('the job has ended');
      jobs.delete(jobId);
      endIfOver();
    });
  }

  function cancel({ job, lines }, payload) {
    job._cancel(payload);
    // When the grace is over, arcpd has ended the job and replies to nothing any more.
    if (isServed) setTimeout(() => lines.end('cancelled'), payload.grace_ms ?? 0).unref();
  }

  function take(line) {
    const message = JSON.parse(line);
    const payload = message.payload ?? {};
    if (!isObject(message) || !isObject(payload)) throw new TypeError('no object');
    const { type, re, job_id: jobId } = withoutNulls(message);
    const found = jobs.get(jobId);
    if (type === 'job.start' && found === undefined) {
      start(jobId, line);
    } else if (found === undefined) {
      // a line for a job that has ended
    } else if (type === 'reply') {
      found.lines.takeReply(re, payload, line);
    } else if (type === 'job.cancel') {
      cancel(found, payload);
    } else if (type === 'job.credentials') {
      found.job.credentials = payload.credentials ?? [];
    }
  }
  process.stdin.on('data', (data) => {
    const lines = (rest + decoder.write(data)).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      try {
        take(line);
      } catch {
        stderr.write(`arcp-agent: arcpd sent a line that is not an object: ${JSON.stringify(line.slice(0, 200))}\n`);
      }
    }
  });
  process.stdin.on('end', () => {
    isOver = true;
    for (const { job, lines } of jobs.values()) {
      lines.end(GONE);
      job._cancel({ reason: 'shutdown', message: GONE, grace_ms: 0 });
    }
    if (isServed) endIfOver();
  });
}
