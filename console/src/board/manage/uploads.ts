// Files on their way: an import is created, its file goes to the bucket, the import is started. It goes on while other pages are shown.
import type { Client } from '@urql/core';
import { ask, type Failure } from '../client';
import { CreateImportDocument, StartImportDocument, type FileFormat } from '../gql/graphql';
import { newKey } from '../idempotency';
import type { Holder } from '../state';
import { advise } from '../act';

/** A file that is being sent. */
export interface Upload {
  id: number;
  project: string;
  name: string;
  bytes: number;
  /** How many bytes have been sent. */
  sent: number;
  /** Why it was not sent, and what to do next; empty while it is on its way. */
  problem: string;
  /** The import, once it has been started: what comes then is in the list of imports. */
  started: string;
}

type Request = { method: string; url: string; headers: { name: string; value: string }[] };
export type Put = (request: Request, file: Blob, tell: (sent: number) => void, unwanted: AbortSignal) => Promise<number>;

export const THERE_ALREADY = 412; // an earlier attempt arrived, and its answer was lost

/** Sends the file; resolves to the status, 0 if there is no answer. XMLHttpRequest tells how much has been sent, which fetch does not. */
export const put: Put = ({ method, url, headers }, file, tell, unwanted) =>
  new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    // The browser sets the length itself, and lets no page do so.
    for (const { name, value } of headers) if (name.toLowerCase() !== 'content-length') request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => tell(loaded);
    request.onloadend = () => resolve(request.status);
    unwanted.addEventListener('abort', () => request.abort());
    if (unwanted.aborted) resolve(0);
    else request.send(file);
  });

/** Creates what sends files, and tells in the state how far they are. */
export function createUploads(client: Client, { get, set }: Pick<Holder, 'get' | 'set'>, send: Put = put) {
  const files = new Map<number, { file: Blob; format: FileFormat; createKey: string; startKey: string; stop: AbortController }>();
  let last = 0;

  const isWanted = (id: number) => get().uploads.some((upload) => upload.id === id);
  const tell = (id: number, change: Partial<Upload>) => set({ uploads: get().uploads.map((upload) => (upload.id === id ? { ...upload, ...change } : upload)) });

  async function go(id: number) {
    const upload = get().uploads.find((other) => other.id === id);
    const kept = files.get(id);
    if (!upload || !kept) return;
    const fail = (failure: Failure) => tell(id, { problem: advise(failure) });
    tell(id, { problem: '', sent: 0 });
    const created = await ask(client, CreateImportDocument, {
      input: { projectId: upload.project, format: kept.format, bytes: upload.bytes, idempotencyKey: kept.createKey },
    });
    if (!isWanted(id)) return;
    if (created.failure) return fail(created.failure);
    const { import: made, upload: request } = created.data.createProjectImport ?? {};
    if (!made || !request) return tell(id, { problem: 'The server does not take the file. Try again.' });

    const status = await send(request, kept.file, (sent) => tell(id, { sent }), kept.stop.signal);
    if (!isWanted(id)) return;
    if (status !== THERE_ALREADY && (status < 200 || status > 299)) {
      return tell(id, {
        problem: status
          ? `The bucket did not take the file (it said ${status}). Choose the file again if you have changed it; else try again.`
          : 'The file did not reach the bucket. Check your connection, then try again. If it fails each time, the bucket does not know this page: whoever runs the server adds its origin to TAGGIE_ALLOWED_ORIGINS.',
      });
    }
    const started = await ask(client, StartImportDocument, { input: { importId: made.id, idempotencyKey: kept.startKey } });
    if (!isWanted(id)) return;
    if (started.failure) return fail(started.failure);
    files.delete(id);
    tell(id, { started: made.id, sent: upload.bytes });
  }

  return {
    /** Sends a file to a project. */
    send(project: string, file: File, format: FileFormat) {
      const id = ++last;
      files.set(id, { file, format, createKey: newKey(), startKey: newKey(), stop: new AbortController() });
      set({ uploads: [...get().uploads, { id, project, name: file.name, bytes: file.size, sent: 0, problem: '', started: '' }] });
      void go(id);
    },
    again: (id: number) => void go(id),
    /** Sends nothing any more, and forgets all: somebody else is signed in, or nobody. */
    stop() {
      for (const { stop } of files.values()) stop.abort();
      files.clear();
    },
    /** Sends it no longer, or forgets it. */
    drop(id: number) {
      files.get(id)?.stop.abort();
      files.delete(id);
      set({ uploads: get().uploads.filter((upload) => upload.id !== id) });
    },
  };
}
