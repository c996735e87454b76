// Options that are chosen from by typing.

/** One of them. */
export interface Option {
  id: string;
  name: string;
}

/** Options that contain what was typed: those that begin with it first, then those of which a word does. */
export function matching(options: Option[], typed: string): Option[] {
  const wanted = typed.trim().toLocaleLowerCase();
  if (!wanted) return options;
  const rank = (name: string) => {
    const low = name.toLocaleLowerCase();
    if (low.startsWith(wanted)) return 0;
    if (low.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted))) return 1;
    return low.includes(wanted) ? 2 : 3;
  };
  return options
    .map((option) => ({ option, at: rank(option.name) }))
    .filter(({ at }) => at < 3)
    .sort((a, b) => a.at - b.at)
    .map(({ option }) => option);
}
