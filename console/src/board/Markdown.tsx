import { useEffect, useMemo, useState } from 'react';
import { useBoard } from './hooks';

/** Shows Markdown; the text as it was written until the renderer is there, or if it cannot be loaded. */
export function Markdown({ text }: { text: string }) {
  const { mayShowInText } = useBoard();
  const [render, setRender] = useState<((text: string) => string) | null>(null);
  useEffect(() => {
    let open = true;
    void import('./renderer').then(
      ({ createRenderer }) => open && setRender(() => createRenderer(mayShowInText)),
      () => {},
    );
    return () => {
      open = false;
    };
  }, [mayShowInText]);
  const html = useMemo(() => render?.(text), [render, text]);
  if (html === undefined) return <div className="markdown is-plain">{text}</div>;
  return <div className="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}
