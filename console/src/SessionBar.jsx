import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { describeToken, readToken } from './session.js';

/**
 * The slim bar above a page: who is signed in, how to sign in or out, links to other pages, and whether answers show their cost.
 *
 * @param {{session: ReturnType<typeof import('./session.js').createSession>, links: {href: string, text: string}[], withCost?: boolean}} props
 */
export function SessionBar({ session, links, withCost = true }) {
  const state = useSyncExternalStore(session.subscribe, session.get);
  const [editing, setEditing] = useState(false);
  const opener = useRef(null);

  function close() {
    setEditing(false);
    opener.current?.focus();
  }

  return (
    <header className="bar" aria-label="Session">
      <div className="bar-row">
        <h1 className="bar-brand">
          <img src="./favicon.svg" alt="" width="20" height="20" />
          Taggie
        </h1>
        <nav className="bar-links" aria-label="Other pages">
          {links.map(({ href, text }) => (
            <a key={href} href={href}>
              {text}
            </a>
          ))}
        </nav>
        <p className="bar-who" role="status">
          <Who state={state} />
        </p>
        <div className="bar-actions">
          {state.mode !== 'demo' && state.demo && (
            <button type="button" onClick={session.useDemo}>
              Use demo user
            </button>
          )}
          {state.mode === 'demo' && state.demo?.people?.length > 1 && (
            <select aria-label="Demo user" value={state.demo.user.email} onChange={(event) => session.usePerson(event.target.value)}>
              {state.demo.people.map(({ email, name }) => (
                <option key={email} value={email}>
                  {name}
                </option>
              ))}
            </select>
          )}
          {state.issuer && (!state.signed || state.ended) && (
            <button type="button" onClick={session.signIn}>
              Sign in
            </button>
          )}
          {(state.mode === 'own' || (state.mode === 'demo' && state.demo) || state.signed) && (
            <button type="button" onClick={session.signOut}>
              Sign out
            </button>
          )}
          {!state.issuer && (
            <button ref={opener} type="button" aria-expanded={editing} aria-controls="own-token" onClick={() => setEditing(!editing)}>
              Use own token
            </button>
          )}
          {withCost && (
            <label className="bar-check" title="Asks for what each answer cost: DynamoDB calls, keys and capacity units, and your budget">
              <input type="checkbox" checked={state.cost} onChange={(event) => session.setCost(event.target.checked)} />
              Show cost
            </label>
          )}
        </div>
      </div>
      {editing && !state.issuer && (
        <TokenForm
          onUse={(token) => {
            session.useToken(token);
            close();
          }}
          onCancel={close}
        />
      )}
    </header>
  );
}

function Who({ state }) {
  if (state.mode === 'own') {
    const { name, expired } = describeToken(state.token);
    return (
      <>
        Signed in as <strong>{name || 'somebody'}</strong> (own token{expired && ', expired'})
      </>
    );
  }
  if (state.mode === 'demo' && state.demo) {
    return (
      <>
        Signed in as <strong>{state.demo.user?.name || state.demo.user?.email || 'a demo user'}</strong> (demo)
      </>
    );
  }
  if (state.ended) return `Your session has ended: sign in. ${state.problem}`;
  if (state.signed) {
    return (
      <>
        Signed in as <strong>{state.signed.name || state.signed.email || 'somebody'}</strong>
      </>
    );
  }
  if (!state.loaded) return 'Signing in…';
  return state.problem || 'Not signed in';
}

function TokenForm({ onUse, onCancel }) {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const input = useRef(null);
  useEffect(() => input.current.focus(), []);

  function submit(event) {
    event.preventDefault();
    const { token, problem } = readToken(text);
    if (token) return onUse(token);
    setProblem(problem);
    input.current.focus();
  }

  return (
    <form id="own-token" className="bar-form" onSubmit={submit} onKeyDown={(event) => event.key === 'Escape' && onCancel()}>
      <label htmlFor="own-token-text">JSON Web Token</label>
      <input
        ref={input}
        id="own-token-text"
        type="password"
        autoComplete="off"
        spellCheck="false"
        value={text}
        onChange={(event) => setText(event.target.value)}
        aria-invalid={problem !== ''}
        aria-describedby="own-token-note"
      />
      <button type="submit">Use</button>
      <button type="button" onClick={onCancel}>
        Cancel
      </button>
      <p id="own-token-note" className={problem ? 'bar-problem' : 'bar-note'} role={problem ? 'alert' : undefined}>
        {problem || 'Kept in this browser tab until you close it.'}
      </p>
    </form>
  );
}
