import { useEffect, useRef, useState } from 'react';
import { useBoard, useBoardState } from './hooks';
import { useKeys } from './keys';
import { mediaOf, MediaView } from './Media';
import { readAddress } from './pictures';
import type { Held } from './types';
import { useView } from './useView';

const AGAIN_MS = 5_000;

/** Where the picture of an item is: a file of ours, or an address that the import told. */
export function pictureOf(item: Pick<Held, 'item' | 'url' | 'type'>): { url: string; small?: string } | null {
  if (item.item?.url && item.item.type.startsWith('image/')) return { url: item.item.url, small: item.item.thumbnailUrl ?? undefined };
  if (item.url && /^image\/(?!tiff)/.test(item.type)) return { url: item.url };
  return null;
}

/** The address of an item for another tab; null when there is none that a browser can read. */
const originalOf = (item: Pick<Held, 'item' | 'url'>) => readAddress(item.item?.url ?? item.url)?.href ?? null;

/**
 * The address from which what an item shows is loaded, and whether that failed. A signed address is another one each time it is read: the first
 * one stays, so that nothing is loaded twice and no sound begins anew. It is tried again with the newest one when the connection is there
 * again, some seconds later once, and when somebody asks.
 */
export function useLoading(item: string, url: string | undefined) {
  const { connection } = useBoardState();
  const held = useRef({ item, url });
  if (held.current.item !== item || !held.current.url || !url) held.current = { item, url };
  const [failed, setFailed] = useState('');
  const [failures, setFailures] = useState(0);
  const newest = useRef(url);
  newest.current = url;
  function retry() {
    held.current = { item, url: newest.current };
    setFailed('');
  }
  useEffect(() => {
    if (connection !== 'live') return;
    setFailed('');
    setFailures(0);
  }, [item, connection]);
  useEffect(() => {
    if (!failed || failures !== 1) return;
    const timer = setTimeout(retry, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [failed, failures]);
  return {
    url: held.current.url,
    failed: failed === item,
    retry,
    onError() {
      held.current = { item, url: undefined }; // the next try takes the newest
      setFailed(item);
      setFailures(failures + 1);
    },
  };
}

/** An item as one looks at it: its picture, or what is known of it, and what the import told. */
export function Picture({ item }: { item: Held }) {
  const picture = pictureOf(item);
  const media = mediaOf(item);
  const { mayShow, settings } = useBoard();
  const { url, failed, retry, onError } = useLoading(item.id, picture?.url ?? media?.url);
  const view = useView(item.id); // whose address is another one each time it is read
  const original = originalOf(item);
  const allowed = url !== undefined && mayShow(url);
  const shown = picture && allowed && !failed;
  const isZoomed = Boolean(shown) && view.isZoomed;
  useKeys(settings, {
    ...(shown && {
      z: view.toggle,
      '+': view.nearer,
      '-': view.farther,
      t: () => view.turn(1),
      T: () => view.turn(-1),
      l: () => view.light(1),
      L: () => view.light(-1),
      '0': view.reset,
    }),
    o: original ? () => window.open(original, '_blank', 'noopener,noreferrer') : undefined,
  });

  return (
    <figure className="picture">
      <div
        className={isZoomed ? 'picture-frame is-zoomed' : 'picture-frame'}
        tabIndex={isZoomed ? 0 : -1}
        role={isZoomed ? 'group' : undefined}
        aria-label={isZoomed ? 'Picture: arrow keys move it' : undefined}
        {...view.frame}
      >
        {shown ? (
          <img
            key={item.id}
            src={url}
            alt={item.name}
            width={item.item?.width ?? undefined}
            height={item.item?.height ?? undefined}
            onError={onError}
            draggable={false}
            {...view.picture}
          />
        ) : media && allowed && !failed ? (
          <MediaView key={item.id} media={{ ...media, url }} name={item.name} onFail={onError} />
        ) : (
          <Unseen item={item} refused={url !== undefined} onRetry={allowed ? retry : undefined} />
        )}
      </div>
      <figcaption>
        <span className="picture-name">
          <strong>{item.name}</strong> <span className="muted">{item.type || 'no type'}</span>
        </span>
        <span className="picture-actions">
          {shown && (
            <>
              <button type="button" onClick={view.toggle} aria-pressed={isZoomed}>
                {isZoomed ? 'Fit' : 'Full size'} <kbd>z</kbd>
              </button>
              <button type="button" onClick={() => view.turn(1)}>
                Turn <kbd>t</kbd>
              </button>
              <button type="button" onClick={() => view.light(1)}>
                Lighter <kbd>l</kbd>
              </button>
              <button type="button" onClick={() => view.light(-1)}>
                Darker <kbd>L</kbd>
              </button>
              {view.isChanged && (
                <button type="button" onClick={view.reset}>
                  As it was <kbd>0</kbd>
                </button>
              )}
            </>
          )}
          {original && (
            <a className="button" href={original} target="_blank" rel="noreferrer noopener">
              Original <kbd>o</kbd>
            </a>
          )}
        </span>
      </figcaption>
      <Metadata item={item} />
    </figure>
  );
}

/** What is shown in place of a picture: one that failed can be tried again, one of an origin that is not allowed cannot. */
function Unseen({ item, refused, onRetry }: { item: Held; refused: boolean; onRetry?: () => void }) {
  const { project } = useBoardState();
  const original = originalOf(item);
  const host = readAddress(original)?.host;
  const isManager = project?.viewerMember.type === 'MANAGER';
  return (
    <div className="unseen">
      <svg viewBox="0 0 64 48" width="96" height="72" aria-hidden="true">
        <rect x="1.5" y="1.5" width="61" height="45" rx="5" fill="none" stroke="currentColor" strokeWidth="2" strokeDasharray="5 4" />
        <circle cx="19" cy="16" r="4.5" fill="none" stroke="currentColor" strokeWidth="2" />
        <path d="M8 38 24 25l9 7 11-12 12 18" fill="none" stroke="currentColor" strokeWidth="2" strokeLinejoin="round" />
      </svg>
      <p className="unseen-name">{item.name}</p>
      {onRetry ? (
        <>
          <p className="muted">The {mediaOf(item) ? 'file' : 'picture'} did not load.</p>
          <button type="button" onClick={onRetry}>
            Retry
          </button>
        </>
      ) : (
        <p className="muted">
          {item.withdrawn && 'Its owner has withdrawn the file. You can still say what you know of it, or skip it.'}
          {!item.withdrawn && !original && !item.url && 'There is nothing to look at: the import told no address.'}
          {!original && item.url && `There is nothing to look at: no browser can read the address that the import told, “${item.url}”.`}
          {original && !refused && 'This type has no preview here. Open the original in another tab.'}
          {original && refused && (
            <>
              What is at {host} cannot be shown here: open the original in another tab.{' '}
              {isManager && (
                <>
                  Whoever runs this server can have it shown: <code>TAGGIE_PICTURE_ORIGINS</code> has to name {host}.
                </>
              )}
            </>
          )}
        </p>
      )}
    </div>
  );
}

/** What else the import told, names and values. */
function Metadata({ item }: { item: Held }) {
  const entries = Object.entries(item.metadata ?? {}).slice(0, 40);
  if (!entries.length) return null;
  return (
    <dl className="metadata" aria-label="What the import told">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'object' && value !== null ? flat(value as object) : String(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

const flat = (value: object) =>
  Object.entries(value)
    .map(([name, part]) => `${Array.isArray(value) ? '' : `${name} `}${typeof part === 'object' ? JSON.stringify(part) : String(part)}`)
    .join(', ')
    .slice(0, 300);
