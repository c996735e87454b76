import { useState } from 'react';
import { SignUpDocument } from './gql/graphql';
import { useAct } from './act';
import { Field, onSubmit, TroubleNote } from './forms';
import { bearerOf, type Session } from './session';

/** Signs up who is signed in, with the name and the address that the issuer knows, if any. */
export function SignUp({ session, onDone }: { session: Session; onDone: () => void }) {
  const { act, busy, trouble } = useAct();
  const bearer = bearerOf(session.get());
  const [name, setName] = useState<string>(bearer.fullName);
  const [email, setEmail] = useState<string>(bearer.email);

  async function signUp() {
    if (await act(SignUpDocument, { name: name.trim(), email: email.trim() })) onDone();
  }

  return (
    <form className="form" onSubmit={onSubmit(signUp)}>
      <Field label="Name" name="name" hint="As others see you." trouble={trouble}>
        {(wiring) => <input {...wiring} autoFocus required maxLength={100} autoComplete="name" value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label="E-mail address" name="email" hint="Managers add you to projects by it." trouble={trouble}>
        {(wiring) => <input {...wiring} type="email" required maxLength={254} autoComplete="email" value={email} onChange={(event) => setEmail(event.target.value)} />}
      </Field>
      <TroubleNote trouble={trouble} except={['name', 'email']} />
      <div className="actions">
        <button type="submit" className="primary" aria-disabled={busy}>
          Sign up
        </button>
      </div>
    </form>
  );
}
