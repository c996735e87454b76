// Taking files that somebody has dropped or chosen, to be looked at before they go up.
import type { State } from '../state';
import { number } from '../text';
import type { Folders } from './folder';
import { look, type Found } from './picked';

const BUSY = 'Pictures are on their way. Wait until they are there, or stop them first.';

/** What takes files: the page, and what brings folders. */
export interface Taker {
  get: () => Pick<State, 'viewer' | 'project'>;
  folders: Pick<Folders, 'isBusy' | 'choose'>;
}

/** Files as they are counted: "1 file", "2 files". */
export const files = (count: number) => (count === 1 ? '1 file' : `${number(count)} files`);

/** Takes files for the project that is shown, once the browser has found them. Resolves to why they are not taken, or to an empty text. */
export async function take({ get, folders }: Taker, finding: Promise<Found[]>): Promise<string> {
  if (folders.isBusy()) return BUSY;
  const { viewer, project } = get();
  const found = await finding;
  // A large folder takes a while, and the page goes on meanwhile.
  const now = get();
  if (!viewer || !project || now.viewer?.id !== viewer.id || now.project?.id !== project.id) return 'Another project was opened while the folder was read. Choose the folder again where you want it.';
  if (folders.isBusy()) return BUSY;
  const picked = look(found);
  if (!picked.length) return 'There are no files in it. Choose another folder.';
  const [top, ...below] = found[0]!.path.split('/');
  await folders.choose(viewer.id, project.id, below.length ? top! : files(picked.length), picked);
  return '';
}
