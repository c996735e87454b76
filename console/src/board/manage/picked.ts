// Files that somebody has dropped or chosen to bring as items: which of them can be brought, and under which name. Pure.

/** A file as the browser gave it, and where it lies below what was dropped. */
export interface Found {
  path: string;
  file: File;
}

/** A file that was looked at. */
export interface Picked extends Found {
  /** What the item will be called. */
  name: string;
  /** The set of the user's library into which it goes: its folder. */
  set: string;
  /** The media type. */
  type: string;
  /** Why it cannot be brought; empty if nothing is wrong at first sight. */
  fault: string;
}

// docs/limits.md: a file that goes up at once, and the name and set of an item. Items of projects have shorter names than files.
const FILE_BYTES = 100 * 1024 * 1024;
const FILE_NAME_CHARACTERS = 255;
const NAME_CHARACTERS = 200;
const SET_CHARACTERS = 64;

// The pictures that the server lets browsers show.
const types: Record<string, string> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  gif: 'image/gif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
};

/** The types for the field that chooses files. */
export const accepted = Object.keys(types).map((ending) => `.${ending}`).join();

const endingOf = (name: string) => /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';

/** Whether a file is a picture that can be brought, as far as its name and type tell. */
export const isPicture = (file: File) => Object.values(types).includes(file.type) || endingOf(file.name) in types;

// What systems put into folders; nobody wants it as an item.
const isHidden = (path: string) => path.split('/').some((part) => part.startsWith('.')) || /(^|\/)(Thumbs\.db|desktop\.ini)$/i.test(path);

/** How a file is known again after a reload. */
export const markOf = ({ path, file }: Found) => `${path}\n${file.size}\n${file.lastModified}`;

/** Looks at files: those that cannot be brought come first, the others follow in the order of their paths. A library takes all kinds. */
export function look(found: readonly Found[], kinds: 'pictures' | 'all' = 'pictures'): Picked[] {
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  const seen = new Set<string>();
  const picked = found
    .filter(({ path }) => !isHidden(path))
    .map((one): Picked => {
      const { path, file } = one;
      const name = file.name.trim();
      const set = [...path.split('/').slice(0, -1).join('/')].slice(-SET_CHARACTERS).join('').trim();
      const type = kinds === 'all' ? file.type || (types[endingOf(file.name)] ?? 'application/octet-stream') : pictureType(file);
      const isTwice = seen.has(markOf(one));
      seen.add(markOf(one));
      return { path, file, name, set, type, fault: (kinds === 'pictures' && pictureFault(file, name, type)) || faultOf(file, name, isTwice) };
    });
  return picked.sort((a, b) => Number(!a.fault) - Number(!b.fault) || compare(a.path, b.path));
}

const pictureType = (file: File) => (Object.values(types).includes(file.type) ? file.type : (types[endingOf(file.name)] ?? ''));

function pictureFault(file: File, name: string, type: string): string {
  if (!type || (file.type && !file.type.startsWith('image/'))) return 'No picture that browsers show.';
  return file.size && file.size <= FILE_BYTES && [...name].length > NAME_CHARACTERS ? 'Its name is longer than 200 characters.' : '';
}

function faultOf(file: File, name: string, isTwice: boolean): string {
  if (!file.size) return 'The file is empty.';
  if (file.size > FILE_BYTES) return 'It is larger than 100 MiB.';
  if ([...name].length > FILE_NAME_CHARACTERS) return 'Its name is longer than 255 characters.';
  return isTwice ? 'It is here twice.' : '';
}
