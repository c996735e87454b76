// Which pictures this page may show: its Content-Security-Policy knows.

/** The sources of pictures in a policy; null when it does not restrict them. */
export function pictureSources(policy: string | null): string[] | null {
  const directives = (policy ?? '').split(';').map((directive) => directive.trim().split(/\s+/));
  return directives.find(([name]) => name === 'img-src')?.slice(1) ?? null;
}

/** Reads the policy of the page. Resolves to a test for addresses. */
export async function readPolicy(fetch = window.fetch.bind(window)): Promise<(url: string) => boolean> {
  const response = await fetch(window.location.pathname).catch(() => null);
  const sources = pictureSources(response?.headers.get('Content-Security-Policy') ?? null);
  return (url) => {
    const { origin } = new URL(url, window.location.href);
    return sources === null || origin === window.location.origin || sources.includes(origin);
  };
}
