// The items in the user's hands, and what was typed about them. What was typed outlives each way in which an item may go.
import { worthKeeping, type Drafts } from './drafts';
import type { Closable } from './state';
import type { Held } from './types';

/** Creates what changes the list of items and the one that is selected. */
export function createHands({ get, set, say }: Closable, drafts: Drafts) {
  /** Items with which something is being done: their events are no news. */
  const underway = new Set<string>();

  const byId = (id: string) => get().held.find((item) => item.id === id);

  /** Whether the item can be worked on: its finish is not on its way. */
  const isFree = ({ id }: Pick<Held, 'id'>) => !drafts.get(id).sending;

  /** Shows these items as the user's, and one of them as the one that is worked on. */
  function hold(held: Held[]) {
    const { selected, kept } = get();
    set({
      held,
      selected: held.some(({ id }) => id === selected) ? selected : (held.find(isFree)?.id ?? null),
      kept: kept.filter(({ id }) => !held.some((item) => item.id === id)), // it came back, and its draft is in the form
    });
  }

  function add(items: Held[]) {
    const { held } = get();
    hold([...held.filter(({ id }) => !items.some((item) => item.id === id)), ...items]);
  }

  /** Takes an item from the list; the next one in it is worked on then, by whoever typed in its form in the next form. */
  function drop(id: string, typing = false) {
    const { held, selected, hasLeft } = get();
    const at = held.findIndex((item) => item.id === id);
    if (at < 0) return;
    const rest = held.filter((item) => item.id !== id);
    const next = [...rest.slice(at), ...rest.slice(0, at)].find(isFree);
    if (selected === id) set({ held: rest, selected: next?.id ?? null, toForm: typing && !hasLeft });
    else set({ held: rest });
  }

  /** Takes away an item that is gone, but not what was typed about it; reports whether that was something. */
  function putAway(item: { id: string; name: string }, reason: string): boolean {
    drop(item.id);
    const draft = drafts.get(item.id);
    if (!worthKeeping(draft)) {
      drafts.remove(item.id);
      return false;
    }
    drafts.put(item.id, { ...draft, sending: undefined });
    const kept = get().kept.filter(({ id }) => id !== item.id);
    set({ kept: [...kept, { id: item.id, name: item.name, reason }] });
    return true;
  }

  /** The item is gone. */
  function keep(item: { id: string; name: string }, reason: string) {
    if (!byId(item.id) && get().kept.some(({ id }) => id === item.id)) return;
    if (putAway(item, reason)) say('bad', `“${item.name}” ${reason}. What you typed is kept, and will be in the form when you get it again.`);
    else say('plain', `“${item.name}” ${reason}.`);
  }

  /** The item was in hand for too long. One message tells of all such. */
  function expire(item: { id: string; name: string }) {
    putAway(item, 'was in your hands for too long');
    set({ expired: [...get().expired, item.name] });
  }

  return { underway, byId, isFree, hold, add, drop, keep, expire };
}

export type Hands = ReturnType<typeof createHands>;
