// The agents of helpers_test.py in JavaScript: the input's `do` says which one.
import { Cancelled, Denied, serve } from 'arcp-agent';

const agents = {
  async echo(job) {
    console.log('a print');
    await job.log('a\nline', 'warn');
    await job.progress(1, 2, { units: 'files' });
    return { input: job.input, cwd: job.cwd, lease: job.lease, id: job.id };
  },
  async ask(job) {
    await job.authorize('fs.read', '/srv/a');
    return job.allowed('fs.read', '/srv/b');
  },
  async denied(job) {
    try {
      await job.authorize('fs.read', '/etc/shadow');
    } catch (error) {
      await job.log(`${error.code} ['${error.granted.join()}']`);
      throw error;
    }
  },
  async spend(job) {
    const before = job.budget.USD;
    const left = (await job.spend('USD', '0.1234567890123456789', 'search')).USD;
    await job.spend('USD', 0.5).catch((error) => error instanceof TypeError && job.log('no float'));
    return [before, left, job.budget.USD];
  },
  async tools(job) {
    await job.tool('web.search', { q: 'x' }, () => ['found']);
    await job.tool('web.fails', {}, () => {
      const error = new Error('no network');
      error.name = 'ValueError';
      throw error;
    }).catch(() => {});
    await job.tool('web.denied', {}, () => job.log('never'));
  },
  async delegate(job) {
    const child = await job.delegate('reader', { path: '/a' },
      { lease: { 'fs.read': ['/a'] }, expiresAt: '2030-01-01T00:00:00Z' });
    const failed = await job.delegate('reader', undefined, { delegateId: 'd2' });
    if (failed.finalStatus !== 'error' || failed.error.code !== 'TIMEOUT') throw new Error('no error');
    await job.delegate('reader', undefined, { lease: { 'fs.read': ['/**'] } });
    return child.result;
  },
  async stream(job) {
    const out = job.stream();
    await out.write('é'.repeat(300_000));
    await out.write(Buffer.from([0x00, 0xff]));
    await out.write(Buffer.from([0x01]));
    await out.write('end');
    await out.close();
    return 'four pieces';
  },
  async cancel(job) {
    await job.log('waits');
    if (!job.signal.aborted) await new Promise((resolve) => { job.signal.addEventListener('abort', resolve); });
    if (job.cancellation.graceMs !== 3000) throw new Error('no grace');
    throw new Cancelled();
  },
  async crash() {
    const error = new Error("'no such thing'");
    error.name = 'KeyError';
    throw error;
  },
  async bad_result() {
    return { a: Number.NaN };
  },
  fail(job) {
    job.fail('x-vendor.example.BUSY', 'try again', { retryable: true, details: { retry_after_ms: 5 } });
  },
  async many(job) {
    await Promise.all([...Array(8).keys()].map(async (number) => {
      for (let i = 0; i < 100; i += 1) await job.metric(`m${number}`, i / 10, { unit: 's' });
    }));
  },
  async rotate(job) {
    await job.authorize('fs.read', '/srv/a');
    return job.credentials.map((one) => one.value);
  },
  async wait_for_reply(job) {
    await job.authorize('fs.read', '/srv/a');
  },
};

serve((job) => agents[job.input.do](job));
export { Denied };
