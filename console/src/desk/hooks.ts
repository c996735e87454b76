// What the pages of the desk share: the store, and the address.
import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Desk, State } from './store';

export const DeskContext = createContext<Desk | null>(null);

export function useDesk(): Desk {
  const desk = useContext(DeskContext);
  if (!desk) throw new Error('no desk around this component');
  return desk;
}

export function useDeskState(): State {
  const desk = useDesk();
  return useSyncExternalStore(desk.subscribe, desk.get);
}

/** What the address says after "#": which page, and what is shown on it. */
export type Address = Record<string, string>;

const read = (hash: string): Address => Object.fromEntries(new URLSearchParams(hash.slice(1)));

/** What stands after "#" for an address; parts without a value are left out. */
export const hashOf = (address: Address) => `#${new URLSearchParams(Object.entries(address).filter(([, value]) => value))}`;

function subscribe(listener: () => void) {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
}

/** The address, and what changes parts of it. */
export function useAddress() {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  const address = read(hash);
  return {
    address,
    /** The link that leads there. */
    link: (change: Address) => hashOf({ ...address, ...change }),
    go(change: Address) {
      window.location.hash = hashOf({ ...address, ...change });
    },
  };
}
