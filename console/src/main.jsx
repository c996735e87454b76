import 'graphiql/setup-workers/vite'; // must come first: Monaco looks for its workers when it loads
import { explorerPlugin } from '@graphiql/plugin-explorer';
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql';
import { createRoot } from 'react-dom/client';
import 'graphiql/style.css';
import '@graphiql/plugin-explorer/style.css';
import './bar.css';
import './style.css';
import { createAsk, createFetcher } from './fetcher.js';
import { exampleTabs, firstQuery } from './queries.js';
import { createSession } from './session.js';
import { ExplorerKeys } from './ExplorerKeys.jsx';
import { FillVariables } from './FillVariables.jsx';
import { FollowSystemTheme } from './FollowSystemTheme.jsx';
import { SessionBar } from './SessionBar.jsx';
import { watchTyping } from './typing.js';

const session = createSession({ isBusy: watchTyping(document) });
session.start();
const ask = createAsk(session);
const plugins = [HISTORY_PLUGIN, explorerPlugin()];
const fetcher = createFetcher(session, ask);

createRoot(document.getElementById('root')).render(
  <>
    <SessionBar session={session} links={[{ href: './start', text: 'Start' }, { href: './board', text: 'Board' }, { href: './desk', text: 'Desk' }]} />
    <main className="console">
      <GraphiQL
        fetcher={fetcher}
        plugins={plugins}
        defaultQuery={firstQuery}
        defaultTabs={exampleTabs}
        isHeadersEditorEnabled
        // The description of the schema holds the conventions.
        schemaDescription
        // A pasted Authorization header must not outlive the browser tab.
        shouldPersistHeaders={false}
        showPersistHeadersSettings={false}
      >
        <GraphiQL.Logo>
          <span />
        </GraphiQL.Logo>
        <ExplorerKeys />
        <FillVariables session={session} ask={ask} />
        <FollowSystemTheme />
      </GraphiQL>
    </main>
  </>,
);
