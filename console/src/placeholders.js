// The ids in the variables of the example tabs. They stand there in capitals, as in docs/tour, until the page has filled in
// those of the first project.

const placeholder = /"(PROJECT_ID|CATEGORY_ID|ITEM_ID|TOKEN)"/g;

/** What is asked for the ids. */
export const idsQuery = `query Ids {
  viewer {
    projects(first: 1) {
      nodes {
        id
        categories {
          id
        }
        viewerClaims {
          id
          claim {
            token
          }
        }
      }
    }
  }
}
`;

/** Whether there is something to fill in. */
export const hasPlaceholders = (variables) => variables.search(placeholder) !== -1;

/** The variables, a text, with the ids of the data that idsQuery brought; what it did not bring stays as it is. */
export function fillPlaceholders(variables, data) {
  const project = data?.viewer?.projects?.nodes?.[0];
  const item = project?.viewerClaims?.[0];
  const ids = {
    PROJECT_ID: project?.id,
    CATEGORY_ID: project?.categories?.[0]?.id,
    ITEM_ID: item?.id,
    TOKEN: item?.claim?.token,
  };
  return variables.replace(placeholder, (text, name) => (ids[name] ? JSON.stringify(ids[name]) : text));
}
