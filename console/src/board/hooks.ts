// What the pages of the board share: the store, the settings, the time.
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import { serverNow } from './clock';
import type { PicturePolicy } from './pictures';
import type { Settings, SettingsStore } from './settings';
import type { State } from './state';
import type { Store } from './store';

/** What main.tsx provides. */
export interface Board extends PicturePolicy {
  store: Store;
  settings: SettingsStore;
}

export const BoardContext = createContext<Board | null>(null);

export function useBoard(): Board {
  const board = useContext(BoardContext);
  if (!board) throw new Error('no board around this component');
  return board;
}

export function useBoardState(): State {
  const { store } = useBoard();
  return useSyncExternalStore(store.subscribe, store.get);
}

export function useSettings(): Settings {
  const { settings } = useBoard();
  return useSyncExternalStore(settings.subscribe, settings.get);
}

/** The time of the server, in milliseconds, again and again. */
export function useNow(every = 1000): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** The value that has not changed for a while. */
export function useLater<T>(value: T, delay: number): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), delay);
    return () => clearTimeout(timer);
  }, [value, delay]);
  return later;
}
