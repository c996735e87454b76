import { useTransition } from 'react';
import { graphql, useRefetchableFragment } from 'react-relay';
import type { NoteRefetchQuery } from './__generated__/NoteRefetchQuery.graphql';
import type { Note_note$key } from './__generated__/Note_note.graphql';

/** One note, which can be fetched again by its id: relay-compiler makes a query of `node(id:)` for that. */
export function Note({ note }: { note: Note_note$key }) {
  const [data, refetch] = useRefetchableFragment<NoteRefetchQuery, Note_note$key>(
    graphql`
      fragment Note_note on Note @refetchable(queryName: "NoteRefetchQuery") {
        id
        title
        version
      }
    `,
    note,
  );
  const [isPending, startTransition] = useTransition();
  const refresh = () => startTransition(() => void refetch({}, { fetchPolicy: 'network-only' }));
  return (
    <li id={data.id} aria-busy={isPending}>
      <span>{data.title}</span>
      <button onClick={refresh}>Refresh</button>
    </li>
  );
}
