// Addresses of pictures: which of them a browser can read, and which this page may show, as its Content-Security-Policy says.

/** The address as browsers read it; null when they cannot: what an import told is somebody else's text. */
export function readAddress(address: string | null | undefined, base?: string): URL | null {
  return address && URL.canParse(address, base) ? new URL(address, base) : null;
}

/** The sources of pictures in a policy; null when it does not restrict them. */
export function pictureSources(policy: string | null): string[] | null {
  const directives = (policy ?? '').split(';').map((directive) => directive.trim().split(/\s+/));
  return directives.find(([name]) => name === 'img-src')?.slice(1) ?? null;
}

/** Which addresses of pictures may be shown. */
export interface PicturePolicy {
  /** As the picture of an item. If the policy was not read, all are tried: the browser refuses what it forbids. */
  mayShow: (url: string) => boolean;
  /** In a text that somebody wrote. If the policy was not read, none is shown. */
  mayShowInText: (url: string) => boolean;
}

/** Reads the policy of the page. */
export async function readPolicy(fetch = window.fetch.bind(window), page: Pick<Location, 'href' | 'origin' | 'pathname'> = window.location): Promise<PicturePolicy> {
  const response = await fetch(page.pathname).catch(() => null);
  const sources = pictureSources(response?.headers.get('Content-Security-Policy') ?? null);
  const mayShow = (url: string) => {
    const origin = readAddress(url, page.href)?.origin;
    return origin !== undefined && (sources === null || origin === page.origin || sources.includes(origin));
  };
  return { mayShow, mayShowInText: (url) => sources !== null && mayShow(url) };
}
