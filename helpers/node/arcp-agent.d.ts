/** Agents of arcpd in JavaScript: see arcp-agent.mjs. */

/** What an amount is given as: a decimal such as "0.25", or a whole number. A number is not exact. */
export type Amount = string | bigint;
export type Lease = Record<string, string[]>;

/** The runtime answered with an error. */
export class Refused extends Error {
  readonly code: string;
  /** The message without the code. */
  readonly reason: string;
  readonly retryable?: boolean;
  readonly details: Record<string, unknown>;
}
/** The lease or the budget does not allow it. */
export class Denied extends Refused {
  /** The patterns that the lease grants for the capability that was asked for. */
  readonly granted: string[];
}
/** Thrown by Job.fail(): the job ends with this error. */
export class Failure extends Refused {}
/** Throw it to end a job that was cancelled. Also thrown by calls that wait when arcpd has gone. */
export class Cancelled extends Error {
  constructor(message?: string);
}

export interface Child {
  jobId: string;
  /** Absent without `wait`. */
  finalStatus?: string;
  result?: unknown;
  summary?: string;
  error?: { code: string; message: string; retryable?: boolean; details?: Record<string, unknown> };
}

export interface Stream {
  write(data: string | Uint8Array): Promise<void>;
  close(): Promise<void>;
}

export interface Job<Input = any> {
  readonly id: string;
  /** name@version */
  readonly agent: string;
  readonly input: Input;
  readonly lease: Lease;
  readonly expiresAt?: string;
  /** What can still be spent by currency, as of the start and of the last spend(). */
  readonly budget: Record<string, string>;
  readonly credentials: Array<Record<string, any>>;
  readonly endpoints: Record<string, any>;
  readonly cwd: string | null;
  readonly traceId?: string;
  readonly traceparent?: string;
  readonly parentId?: string;
  readonly features: string[];
  /** Aborted when the job is cancelled. */
  readonly signal: AbortSignal;
  readonly cancellation: { reason: string; message?: string; graceMs: number } | null;

  /** Asks before an operation; rejects with Denied when the lease does not allow it. */
  authorize(capability: string, target: string): Promise<void>;
  allowed(capability: string, target: string): Promise<boolean>;
  log(message: string, level?: 'debug' | 'info' | 'warn' | 'error'): Promise<void>;
  thought(text: string): Promise<void>;
  status(phase: string, message?: string): Promise<void>;
  progress(current: number, total?: number, more?: { units?: string; message?: string }): Promise<void>;
  metric(name: string, value: number, more?: { unit?: string; dimensions?: Record<string, unknown> }): Promise<void>;
  artifact(uri: string, contentType: string, more?: { byteSize?: number; sha256?: string }): Promise<void>;
  /** An event of any kind; rejects with Refused when it is not valid. */
  event(kind: string, body: Record<string, unknown>): Promise<void>;
  /** Charges the budget, as the metric cost.WHAT; rejects with Denied when it is exhausted. */
  spend(currency: string, amount: Amount, what?: string): Promise<Record<string, string>>;
  /** Calls a tool; rejects with Denied when the lease does not allow tool.call of `name`. */
  tool<Result>(name: string, args: unknown, call: () => Result | Promise<Result>): Promise<Result>;
  /** Starts a job of another agent, whose lease lies within this job's. */
  delegate(agent: string, input?: unknown, more?: {
    lease?: Lease; expiresAt?: string; delegateId?: string; wait?: boolean;
  }): Promise<Child>;
  /** A long result, piece by piece. The handler then returns nothing, or a summary. */
  stream(): Stream;
  /** Ends the job with this error (throws Failure). */
  fail(code: string, message: string, more?: { retryable?: boolean; details?: Record<string, unknown> }): never;
}

/** Runs the handler for the job that arcpd gives to this process, or for all jobs that it gives
 * (`mode: serve`), and then ends the process. */
export function serve<Input = any>(handler: (job: Job<Input>) => unknown): void;
