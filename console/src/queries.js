// The tabs that a visitor finds on the first visit. Each operation has a name: GraphiQL shows it as the tab's title.
// The first one is also the first query of the README. `npm test` checks them all against schema.graphqls.
// placeholders.js knows the ids in capitals.

export const firstQuery = `# Ctrl+Enter runs the query.
query FirstNotes {
  viewer {
    id
    name
    notes(first: 5) {
      nodes {
        title
        deadline
        tags {
          value
        }
      }
    }
  }
}
`;

const dueSoon = `# Notes that are due in a range.
# The next page: set "after" to endCursor.
query DueBetween($due: DueRange!, $after: Cursor) {
  viewer {
    notes(due: $due, first: 10, after: $after) {
      nodes {
        title
        deadline
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
`;

const shared = `# What others have shared with you.
# Owners, tags and readers come in batches:
# see "extensions" at the answer's end.
query SharedWithMe {
  viewer {
    sharedNotes(first: 100) {
      edges {
        permission
        node {
          title
          owner {
            name
          }
          tags {
            value
          }
          accessList(first: 5) {
            nodes {
              name
            }
          }
        }
      }
      pageInfo {
        hasNextPage
      }
    }
  }
}
`;

const byTag = `# Your tags, and notes that carry each.
query NotesByTag {
  viewer {
    tags(first: 10) {
      nodes {
        value
        notes(first: 3) {
          nodes {
            title
          }
        }
      }
    }
  }
}
`;

const create = `# Run it twice: the idempotency key makes
# the second run return the same note.
mutation CreateNote($input: CreateNoteInput!) {
  createNote(input: $input) {
    note {
      id
      title
      deadline
      version
      tags {
        value
      }
    }
  }
}
`;

const queue = `# Your projects: what is left to do, what was
# done, and what you have in your hands.
query ProjectQueue {
  viewer {
    projects(first: 5) {
      nodes {
        id
        name
        queue {
          paused
          queued
          counts {
            total
            new
            claimed
            finished
          }
        }
        teams {
          name
          statistics {
            finished
            incorrect
          }
        }
        topKeywords {
          value
          count
        }
        viewerClaims {
          name
          claim {
            until
          }
        }
      }
    }
  }
}
`;

const events = `# The state now, then what happens, until you
# change to another example here. In a new
# browser tab, claim an item at /board.
subscription ProjectEvents($project: ID!) {
  projectEvents(projectId: $project) {
    __typename
    ... on ProjectSnapshot {
      queue {
        queued
        counts {
          remaining
        }
      }
      claims {
        name
      }
    }
    ... on ProjectEvent {
      type
      at
      user {
        name
      }
      item {
        name
      }
      counts {
        remaining
      }
    }
    ... on ProjectGap {
      message
    }
  }
}
`;

const claim = `# Items of the queue for you alone, for a
# while. Then open the next tab.
mutation ClaimItems($input: ClaimProjectItemsInput!) {
  claimProjectItems(input: $input) {
    items {
      id
      name
      url
      claim {
        until
        token
      }
    }
    problem {
      ... on Problem {
        message
      }
    }
  }
}
`;

const finish = `# Says what an item is that you have claimed.
# The page filled in your oldest claim, if any.
mutation FinishItem($input: FinishProjectItemInput!) {
  finishProjectItem(input: $input) {
    item {
      name
      status
      category {
        name
      }
      keywords
    }
    problem {
      ... on Problem {
        message
      }
    }
  }
}
`;

const scores = `# Scores with their pages.
# Open a thumbnailUrl in a new tab.
query Scores {
  viewer {
    scores(first: 5) {
      nodes {
        title
        pages {
          label
          item {
            width
            height
            thumbnailUrl
          }
        }
        annotations {
          text
        }
        snapshots {
          name
        }
      }
    }
  }
}
`;

const json = (value) => JSON.stringify(value, null, 2);

/** @type {{query: string, variables?: string}[]} */
export const exampleTabs = [
  { query: firstQuery },
  {
    query: dueSoon,
    variables: json({ due: { after: '2026-01-01T00:00:00Z', before: '2028-01-01T00:00:00Z' }, after: null }),
  },
  { query: shared },
  { query: byTag },
  {
    query: create,
    variables: json({
      input: { title: 'My first note', content: 'Written in GraphiQL', tags: ['hello'], idempotencyKey: 'my-first-note' },
    }),
  },
  { query: queue },
  { query: events, variables: json({ project: 'PROJECT_ID' }) },
  { query: claim, variables: json({ input: { projectId: 'PROJECT_ID', count: 2 } }) },
  {
    query: finish,
    variables: json({ input: { itemId: 'ITEM_ID', token: 'TOKEN', categoryId: 'CATEGORY_ID', keywords: ['harbour'] } }),
  },
  { query: scores },
];
