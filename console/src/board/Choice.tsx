import { useEffect, useId, useState, type KeyboardEvent } from 'react';
import { LeaveHint } from './LeaveHint';
import { matching, numbered, type Option } from './options';

/** One of many, chosen by typing a part of its name, by arrows, or by a click. The list is always in sight. */
export function Choice(props: {
  label: string;
  hint?: string;
  options: Option[];
  value: string;
  optional?: boolean;
  /** Whether digits choose the first nine while nothing is typed. */
  isNumbered?: boolean;
  /** Whether a dialog begins here. */
  first?: boolean;
  inputRef: React.RefObject<HTMLInputElement | null>;
  onChange: (id: string) => void;
  /** Goes on to the next field. */
  onDone: () => void;
}) {
  const { label, options, value, optional, isNumbered, inputRef, onChange, onDone } = props;
  const id = useId();
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(-1);
  const chosen = options.find((option) => option.id === value);
  const shown = matching(options, typed);
  const active = typed.trim() && at < 0 ? 0 : at;

  function pick(option: Option | undefined) {
    if (option) onChange(option.id);
    setTyped('');
    setAt(-1);
  }

  // What is typed and not chosen must not be taken for what was chosen before.
  useEffect(() => inputRef.current?.setCustomValidity(!typed.trim() ? '' : shown.length ? 'Press Enter to choose, or clear the field.' : 'Nothing fits: clear the field.'));

  function press(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing) return;
    if (event.ctrlKey || event.metaKey) {
      if (event.key !== 'Enter' || !typed.trim()) return;
      if (shown[active]) pick(shown[active]);
      else event.preventDefault(); // nothing fits: the form is not sent
      return;
    }
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp': {
        event.preventDefault();
        const step = event.key === 'ArrowDown' ? 1 : -1;
        const chosenAt = shown.findIndex((option) => option.id === value);
        const from = active >= 0 ? active : chosenAt >= 0 ? chosenAt : step > 0 ? -1 : 0;
        setAt(shown.length ? (from + step + shown.length) % shown.length : -1);
        break;
      }
      case 'Enter':
        event.preventDefault();
        if (active >= 0 && shown[active]) pick(shown[active]);
        else if (typed.trim()) return; // nothing fits: stay
        onDone();
        break;
      case 'Backspace':
        if (!typed && optional && value) onChange('');
        break;
      case 'Tab':
        if (typed.trim() && shown[active]) pick(shown[active]);
        break;
      default: {
        const option = isNumbered && !typed && numbered(options, event.key);
        if (!option) return;
        event.preventDefault();
        pick(option);
        onDone();
      }
    }
  }

  return (
    <div className="choice">
      <label htmlFor={`${id}-input`}>
        {label} {props.hint && <kbd>{props.hint}</kbd>}
        {optional && <span className="muted"> if any</span>}
      </label>
      <LeaveHint />
      <div className="choice-field">
        <input
          id={`${id}-input`}
          ref={inputRef}
          data-first={props.first}
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={active >= 0 && shown[active] ? `${id}-${shown[active].id}` : undefined}
          aria-autocomplete="list"
          autoComplete="off"
          spellCheck={false}
          placeholder={chosen ? chosen.name : 'Type to find…'}
          className={chosen && !typed ? 'is-chosen' : undefined}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            setAt(-1);
          }}
          onKeyDown={press}
        />
        {optional && value && (
          <button type="button" className="quiet" aria-label={`Remove ${label.toLowerCase()}`} onClick={() => onChange('')}>
            ×
          </button>
        )}
      </div>
      <ul id={`${id}-list`} role="listbox" aria-label={label} className="options">
        {shown.map((option, i) => (
          <li
            key={option.id}
            id={`${id}-${option.id}`}
            role="option"
            aria-selected={option.id === value}
            className={i === active ? 'is-active' : undefined}
            ref={(element) => {
              if (element && i === active) element.scrollIntoView({ block: 'nearest' });
            }}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => {
              pick(optional && option.id === value ? { id: '', name: '' } : option);
              onDone();
            }}
          >
            {option.name} {isNumbered && !typed && i < 9 && <kbd>{i + 1}</kbd>}
          </li>
        ))}
        {!shown.length && <li className="muted">Nothing fits “{typed}”.</li>}
      </ul>
    </div>
  );
}
