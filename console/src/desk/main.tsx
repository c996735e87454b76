import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Provider } from 'urql';
import '../bar.css';
import '../board/base.css';
import '../board/head.css';
import '../board/overlays.css';
import '../board/review.css';
import '../board/manage/manage.css';
import '../board/guidelines.css';
import './desk.css'; // last: it changes what the others say
import { Boundary } from '../board/Boundary';
import { createSession } from '../board/session';
import { watchTyping } from '../typing.js';
import { App } from './App';
import { DeskContext } from './hooks';
import { createDesk } from './store';

const isTyping = watchTyping(document);
const session = createSession({ isBusy: () => isTyping() || desk.folders.isBusy() });
const desk = createDesk(session);
desk.run();

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Provider value={desk.client}>
      <DeskContext value={desk}>
        <Boundary>
          <App session={session} />
        </Boundary>
      </DeskContext>
    </Provider>
  </StrictMode>,
);
