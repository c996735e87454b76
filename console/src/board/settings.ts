// What a user likes, kept in the browser.

export interface Settings {
  /** How many items are to be ready when one is done; 0: only those that are asked for. */
  ahead: number;
  /** Whether single keys do something. */
  singleKeys: boolean;
  /** Whether results to review are shown as a grid. */
  isGrid: boolean;
}

const KEY = 'taggie:board';
const usual: Settings = { ahead: 1, singleKeys: true, isGrid: false };

/** Reads and keeps the settings. */
export function createSettings(storage: Storage) {
  let settings = usual;
  try {
    settings = { ...usual, ...JSON.parse(storage.getItem(KEY) ?? '{}') };
  } catch {
    // written by another version
  }
  const listeners = new Set<() => void>();
  return {
    get: () => settings,
    set(change: Partial<Settings>) {
      settings = { ...settings, ...change };
      try {
        storage.setItem(KEY, JSON.stringify(settings));
      } catch {
        // full: the page goes by it until it is closed
      }
      for (const listener of listeners) listener();
    },
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

export type SettingsStore = ReturnType<typeof createSettings>;

const projectKey = (viewer: string) => `taggie:project:${viewer}`;

/** The project that a user looked at last in this browser. */
export const lastProject = (viewer: string, storage: Storage = window.localStorage) => storage.getItem(projectKey(viewer));

/** Remembers it for the next tab. */
export function rememberProject(viewer: string, project: string, storage: Storage = window.localStorage) {
  try {
    storage.setItem(projectKey(viewer), project);
  } catch {
    // full: the next tab opens the first one
  }
}
