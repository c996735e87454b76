// What is dropped on the page, or chosen in a field: files, and the files in folders.
import type { Found } from './picked';

/** The files of a drop, those in folders with the path below it. Call it while the event is handled: later the browser forgets the drop. */
export async function filesOf(dropped: DataTransfer): Promise<Found[]> {
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
  const found: Found[] = [];
  for (const entry of entries) {
    if (entry instanceof File) found.push({ path: entry.name, file: entry });
    else if (entry) await collect(entry, found);
  }
  return found;
}

async function collect(entry: FileSystemEntry, found: Found[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path: entry.fullPath.replace(/^\//, ''), file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // A browser gives up to 100 entries at a time, and none at the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const inner of some) await collect(inner, found);
  }
}

/** The files of a field; those of a folder have the path below it. */
export const chosenIn = (files: FileList): Found[] => [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
