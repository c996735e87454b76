import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Provider } from 'urql';
import '../bar.css';
import './base.css';
import './head.css';
import './work.css';
import './review.css';
import './lists.css';
import './overlays.css';
import './manage/manage.css';
import './guidelines.css';
import './widths.css'; // last: it changes what the others say
import { App } from './App';
import { Boundary } from './Boundary';
import { BoardContext } from './hooks';
import { readPolicy } from './pictures';
import { createSession } from './session';
import { createSettings } from './settings';
import { createStore } from './store';
import { watchTyping } from '../typing.js';

const isTyping = watchTyping(document);
const session = createSession({ isBusy: () => isTyping() || store.isBusy() });
const settings = createSettings(window.localStorage);
const store = createStore(session, settings);
const pictures = await readPolicy();
store.run();

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Provider value={store.client}>
      <BoardContext value={{ store, settings, ...pictures }}>
        <Boundary>
          <App session={session} />
        </Boundary>
      </BoardContext>
    </Provider>
  </StrictMode>,
);
