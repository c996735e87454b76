import { useEffect, useRef, useState } from 'react';
import { useBoard } from './hooks';
import { useKeys } from './keys';
import { readAddress } from './pictures';
import type { Held } from './types';

const MOST_BYTES = 256 * 1024; // of a text

/** What a browser can show besides pictures. A text is only read from our own bucket: other origins would have to allow it. */
export interface Media {
  kind: 'audio' | 'video' | 'text';
  url: string;
}

/** The sound, film or text of an item; null for everything else. */
export function mediaOf(item: Pick<Held, 'item' | 'url' | 'type'>): Media | null {
  const type = item.item?.type ?? item.type;
  const url = readAddress(item.item?.url ?? item.url)?.href;
  if (!url) return null;
  if (/^(audio|video)\//.test(type)) return { kind: type.startsWith('audio') ? 'audio' : 'video', url };
  return item.item?.url && /^(text\/|application\/(json|x-ndjson|xml)$)/.test(type) ? { kind: 'text', url } : null;
}

/** A sound or a film with the browser's own controls, or the beginning of a text as it is written. */
export function MediaView({ media, name, onFail }: { media: Media; name: string; onFail: () => void }) {
  if (media.kind === 'text') return <Text url={media.url} name={name} onFail={onFail} />;
  return <Player kind={media.kind} url={media.url} name={name} onFail={onFail} />;
}

function Player({ kind, url, name, onFail }: { kind: 'audio' | 'video'; url: string; name: string; onFail: () => void }) {
  const { settings } = useBoard();
  const player = useRef<HTMLVideoElement>(null);
  useKeys(settings, { m: () => void (player.current?.paused ? player.current.play().catch(() => {}) : player.current?.pause()) }); // what fails is told by onError
  const Element = kind as 'video';
  return <Element ref={player} className="player" aria-label={name} controls preload="metadata" src={url} onError={onFail} />;
}

function Text({ url, name, onFail }: { url: string; name: string; onFail: () => void }) {
  const [text, setText] = useState<{ shown: string; isWhole: boolean } | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    readStart(url, stop.signal).then(setText, () => stop.signal.aborted || onFail());
    return () => stop.abort();
  }, [url]);
  return (
    <div className="text-frame" role="document" tabIndex={0} aria-label={name} aria-busy={!text}>
      <pre>{text?.shown}</pre>
      {text && !text.isWhole && <p className="muted">Only the beginning is shown. Open the original to read the rest.</p>}
    </div>
  );
}

/** Reads the beginning of a text. Of bytes that are no UTF-8 the browser makes replacement characters. */
async function readStart(url: string, signal: AbortSignal) {
  const response = await fetch(url, { signal });
  if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let shown = '';
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return { shown: shown + decoder.decode(), isWhole: true };
    shown += decoder.decode(value.subarray(0, MOST_BYTES - size), { stream: true });
    size += value.length;
    if (size < MOST_BYTES) continue;
    await reader.cancel();
    return { shown, isWhole: size === MOST_BYTES && Number(response.headers.get('Content-Length')) === size };
  }
}
