import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { useEffect } from 'react';

/**
 * Repaints the editors when the system changes between light and dark while the page is open. The style sheets follow by
 * themselves, but Monaco takes its colours once: dark text would stay on a dark ground.
 */
export function FollowSystemTheme() {
  const theme = useGraphiQL((state) => state.theme);
  const { setTheme } = useGraphiQLActions();
  useEffect(() => {
    if (theme) return; // chosen by the visitor in GraphiQL's settings
    const dark = window.matchMedia('(prefers-color-scheme: dark)');
    const repaint = () => setTheme(null);
    dark.addEventListener('change', repaint);
    return () => dark.removeEventListener('change', repaint);
  }, [theme, setTheme]);
  return null;
}
