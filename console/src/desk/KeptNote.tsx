/** What a user has to know of how the browser keeps what they type; nothing if all is well. */
export function KeptNote({ isSafe, isElsewhere }: { isSafe: boolean; isElsewhere: boolean }) {
  if (!isSafe) return <p className="problem is-whole">The browser has no room to keep what you type: save it before you leave.</p>;
  if (isElsewhere) return <p className="problem is-whole">You type here in another tab, too. The browser keeps only what you typed last: save one of them before you leave.</p>;
  return null;
}
