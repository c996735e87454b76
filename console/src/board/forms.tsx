import { useEffect, useId, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { Dialog } from './Dialog';
import type { Trouble } from './act';

/** What a field gives to its input. */
interface Wiring {
  id: string;
  'aria-invalid': boolean | undefined;
  'aria-describedby': string | undefined;
}

/** A field with its label, a hint, and what is wrong with it. When something is, the cursor goes there. */
export function Field(props: { label: string; name: string; hint?: string; trouble?: Trouble | null; children: (wiring: Wiring) => ReactNode }) {
  const { label, name, hint, trouble } = props;
  const id = useId();
  const wrong = trouble?.field === name ? trouble.message : '';
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (wrong) box.current?.querySelector<HTMLElement>('input, textarea, select')?.focus();
  }, [wrong, trouble]);
  const told = [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(' ');
  return (
    <div className="field" ref={box}>
      <label htmlFor={id}>{label}</label>
      {props.children({ id, 'aria-invalid': wrong ? true : undefined, 'aria-describedby': told || undefined })}
      {hint && (
        <p id={`${id}-hint`} className="muted hint">
          {hint}
        </p>
      )}
      {wrong && (
        <p id={`${id}-wrong`} className="problem" role="alert">
          {wrong}
        </p>
      )}
    </div>
  );
}

/** What went wrong and is not about one of the fields that are named. */
export function TroubleNote({ trouble, except = [] }: { trouble: Trouble | null; except?: string[] }) {
  if (!trouble || except.includes(trouble.field)) return null;
  return (
    <p className="problem" role="alert">
      {trouble.message}
    </p>
  );
}

/** Has a form do something in this page instead of loading another one. */
export const onSubmit = (act: () => unknown) => (event: FormEvent) => {
  event.preventDefault();
  void act();
};

/** A choice of what has a name; with `all`, also of none of them. */
export function Select<Value extends string>(props: { label: string; value: Value | ''; names: Record<Value, string>; all?: string; onChange: (value: Value | '') => void }) {
  const id = useId();
  return (
    <div className="field is-short">
      <label htmlFor={id}>{props.label}</label>
      <select id={id} value={props.value} onChange={(event) => props.onChange(event.target.value as Value | '')}>
        {props.all && <option value="">{props.all}</option>}
        {Object.entries<string>(props.names).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A form in a dialog. What was typed is lost by no Esc. Troubles at `fields` are shown there. */
export function FormDialog(props: { title: string; yes: string; isDanger?: boolean; fields: string[]; isReady?: boolean; busy: boolean; trouble: Trouble | null; children: ReactNode; onYes: () => unknown; onClose: () => void }) {
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form className="form" data-keep onSubmit={onSubmit(() => !props.busy && props.onYes())}>
        {props.children}
        <TroubleNote trouble={props.trouble} except={props.fields} />
        <div className="actions">
          <button type="button" data-cancel onClick={props.onClose}>
            Cancel
          </button>
          <button type="submit" className={props.isDanger ? 'danger' : 'primary'} aria-disabled={props.busy} disabled={props.isReady === false}>
            {props.yes}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Asks for another name. */
export function Rename(props: { name: string; busy: boolean; trouble: Trouble | null; onYes: (name: string) => unknown; onClose: () => void }) {
  const [name, setName] = useState(props.name);
  return (
    <FormDialog {...props} title={`Rename ${props.name}`} yes="Rename" fields={['name']} onYes={() => props.onYes(name.trim())}>
      <Field label="Name" name="name" trouble={props.trouble}>
        {(wiring) => <input {...wiring} data-first data-begin={props.name} required maxLength={100} autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
    </FormDialog>
  );
}

/** Asks whether somebody is sure. The dialog begins at the button that changes nothing. */
export function Confirm(props: { title: string; yes: string; busy: boolean; trouble: Trouble | null; children: ReactNode; onYes: () => unknown; onClose: () => void }) {
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      {props.children}
      <TroubleNote trouble={props.trouble} />
      <div className="actions">
        <button type="button" data-first onClick={props.onClose}>
          Cancel
        </button>
        <button type="button" className="danger" aria-disabled={props.busy} onClick={() => void props.onYes()}>
          {props.yes}
        </button>
      </div>
    </Dialog>
  );
}

/** Names that stand on lines of their own. */
export const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
