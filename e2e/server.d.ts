// What server.js gives to TypeScript.

export interface RunningServer {
  origin: string;
  data: string;
  stop(how?: { keep?: boolean }): Promise<void>;
  token(email: string, ...flags: string[]): Promise<string>;
  log(): string;
}
export function startServer(variables?: Record<string, string>, kept?: string): Promise<RunningServer>;
export function query(
  origin: string,
  text: string,
  variables?: Record<string, unknown>,
  token?: string,
): Promise<{ data?: any; errors?: { message: string; extensions: { code: string; retryable?: boolean } }[] }>; // any: what was asked for is the caller's
export function until<T>(what: string, milliseconds: number, check: () => T | Promise<T>): Promise<NonNullable<T>>;
