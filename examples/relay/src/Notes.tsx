import { graphql, useLazyLoadQuery, usePaginationFragment } from 'react-relay';
import type { NotesPaginationQuery } from './__generated__/NotesPaginationQuery.graphql';
import type { NotesQuery } from './__generated__/NotesQuery.graphql';
import type { Notes_user$key } from './__generated__/Notes_user.graphql';
import { Note } from './Note';

/** The caller's notes. */
export function Notes() {
  const { viewer } = useLazyLoadQuery<NotesQuery>(
    graphql`
      query NotesQuery {
        viewer {
          ...Notes_user
        }
      }
    `,
    {},
  );
  return viewer ? <List user={viewer} /> : <p>Not signed in</p>;
}

function List({ user }: { user: Notes_user$key }) {
  const { data, hasNext, isLoadingNext, loadNext } = usePaginationFragment<NotesPaginationQuery, Notes_user$key>(
    graphql`
      fragment Notes_user on User
      @refetchable(queryName: "NotesPaginationQuery")
      @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "Cursor" }) {
        notes(first: $count, after: $cursor) @connection(key: "Notes_notes") {
          edges {
            node {
              id
              ...Note_note
            }
          }
        }
      }
    `,
    user,
  );
  return (
    <>
      <ul>{data.notes?.edges.map(({ node }) => <Note key={node.id} note={node} />)}</ul>
      <button disabled={!hasNext || isLoadingNext} onClick={() => loadNext(2)}>
        More
      </button>
    </>
  );
}
