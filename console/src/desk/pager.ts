// Pages of a score: how many, and to which of them a key leads. Pure.

export const pagesOf = (count: number) => (count === 1 ? '1 page' : `${count} pages`); // up to 250

/** The page after a key, from 0; null for a key that turns no page. */
export function stepTo(key: string, at: number, pages: number): number | null {
  switch (key) {
    case 'ArrowLeft':
      return Math.max(at - 1, 0);
    case 'ArrowRight':
      return Math.min(at + 1, pages - 1);
    case 'Home':
      return 0;
    case 'End':
      return pages - 1;
    default:
      return null;
  }
}
