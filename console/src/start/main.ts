// Who the visitor is: somebody of the demo team where the server has a local issuer. All else of the page is plain HTML.
import { chosenPerson, choosePerson } from '../session.js';

/** What GET /session answers, as far as this page needs it. */
interface Session {
  user?: { name: string; email: string };
  people?: { name: string; email: string }[];
  provider?: unknown;
}

const element = (id: string) => document.getElementById(id)!;

/** Says how one signs in where there is nobody to choose. */
function tell(text: string) {
  element('sign-in').textContent = text;
  element('sign-in').hidden = false;
}

function offer({ people = [], user }: Session) {
  const chosen = people.find(({ email }) => email === chosenPerson()) ?? user;
  const buttons = people.map(({ name, email }, at) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.dataset.email = email;
    button.append(name, Object.assign(document.createElement('span'), { textContent: at === 0 ? ' manages the projects' : ' labels items' }));
    button.addEventListener('click', () => {
      choosePerson(email);
      show(email);
    });
    return button;
  });
  function show(email: string | undefined) {
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.email === email));
    const name = people.find((person) => person.email === email)?.name;
    element('who').textContent = name ? `In this window, you are ${name}.` : '';
  }
  element('names').replaceChildren(
    ...buttons.map((button) => {
      const entry = document.createElement('li');
      entry.append(button);
      return entry;
    }),
  );
  element('people').hidden = element('team').hidden = false;
  show(chosen?.email);
}

async function begin() {
  const response = await fetch('session', { headers: { accept: 'application/json' }, cache: 'no-store' }).catch(() => null);
  if (!response) return tell('The server cannot be reached at the moment. Reload the page in a while.');
  if (response.status === 404 || response.status === 204) return tell('The pages ask you for a token: whoever runs this server can give you one.');
  const session: Session | null = response.ok ? await response.json().catch(() => null) : null;
  if (session?.people) return offer(session);
  tell(session?.provider ? 'The pages ask you to sign in.' : 'The server cannot sign anybody in at the moment. Reload the page in a while.');
}

void begin();
