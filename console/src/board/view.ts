// How a picture is looked at: zoomed, moved, turned, lighter or darker.

/** How many times as large as it fits, moved by how many pixels, turned by how many degrees, and how bright; 1 for as it is. */
export interface View {
  zoom: number;
  x: number;
  y: number;
  turn: number;
  light: number;
}

export interface Size {
  width: number;
  height: number;
}

/** As it is, in its frame. */
export const FIT: View = { zoom: 1, x: 0, y: 0, turn: 0, light: 1 };

const MOST_ZOOM = 20;
const LEAST_LIGHT = 0.4;
const MOST_LIGHT = 2.5;

const between = (least: number, value: number, most: number) => Math.min(Math.max(value, least), most);

const across = (turn: number) => turn % 180 !== 0;

/** What a turned picture is scaled by, so that it fits its frame as well. */
export function fitting(turn: number, picture: Size, frame: Size): number {
  if (!across(turn) || !picture.width || !picture.height) return 1;
  return Math.min(frame.width / picture.height, frame.height / picture.width);
}

/** The view with no empty margin on one side while the picture goes beyond the frame on the other. */
export function held(view: View, picture: Size, frame: Size): View {
  const scale = view.zoom * fitting(view.turn, picture, frame);
  const [width, height] = across(view.turn) ? [picture.height, picture.width] : [picture.width, picture.height];
  const room = (size: number, of: number) => Math.max(0, (size * scale - of) / 2);
  const [x, y] = [room(width, frame.width), room(height, frame.height)];
  return { ...view, x: between(-x, view.x, x), y: between(-y, view.y, y) };
}

/** The view zoomed by a factor. What is at that point, in pixels from the middle of the frame, stays there. */
export function zoomed(view: View, factor: number, at = { x: 0, y: 0 }): View {
  const zoom = between(1, view.zoom * factor, MOST_ZOOM);
  const by = zoom / view.zoom;
  return { ...view, zoom, x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by };
}

export const moved = (view: View, x: number, y: number): View => ({ ...view, x: view.x + x, y: view.y + y });

/** The view turned by a quarter, to the right or to the left. */
export const turned = (view: View, quarters: 1 | -1): View => ({ ...view, turn: (view.turn + quarters * 90 + 360) % 360, x: 0, y: 0 });

/** The view made lighter by steps, or darker. */
export const lit = (view: View, steps: number): View => ({ ...view, light: between(LEAST_LIGHT, Math.round((view.light + steps * 0.2) * 10) / 10, MOST_LIGHT) });
