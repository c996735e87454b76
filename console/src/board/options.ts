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

/** Whether digits can stand for the first nine options: not where a name has a word that begins with one, which somebody may want to type. */
export const canBeNumbered = (options: Option[]) => !options.some(({ name }) => name.split(/[^\p{L}\p{N}]+/u).some((word) => /^\p{N}/u.test(word)));

/** The option that a digit stands for. */
export const numbered = (options: Option[], key: string): Option | undefined => (/^[1-9]$/.test(key) ? options[Number(key) - 1] : undefined);
