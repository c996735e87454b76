import { useGraphiQL } from '@graphiql/react';
import { useEffect, useSyncExternalStore } from 'react';
import { fillPlaceholders, hasPlaceholders, idsQuery } from './placeholders.js';
import { identity } from './session.js';

/**
 * Fills ids into the variables of an example when its tab is opened, and when somebody signs in: where the variables hold no
 * placeholder, nothing is asked and nothing changes.
 */
export function FillVariables({ session, ask }) {
  const editor = useGraphiQL((state) => state.variableEditor);
  const tab = useGraphiQL((state) => state.tabs[state.activeTabIndex]?.id);
  const who = useSyncExternalStore(session.subscribe, () => identity(session.get()));

  useEffect(() => {
    const text = editor?.getValue() ?? '';
    if (!hasPlaceholders(text)) return;
    let over = false;
    ask({ query: idsQuery }).then(
      ({ data }) => {
        const filled = fillPlaceholders(text, data);
        // What the visitor has written meanwhile wins.
        if (!over && filled !== text && editor.getValue() === text) editor.setValue(filled);
      },
      () => {}, // the visitor's own request will say what is wrong
    );
    return () => {
      over = true;
    };
  }, [editor, tab, who, ask]);
  return null;
}
