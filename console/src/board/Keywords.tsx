import { useId, useState, type KeyboardEvent } from 'react';
import { useQuery } from 'urql';
import { CompletionsDocument } from './gql/graphql';
import { useLater } from './hooks';
import { LeaveHint } from './LeaveHint';

const MOST = 20;
const LONGEST = 64;

/** Keywords, typed or taken from those that others used; the project's suggestions are in sight. */
export function Keywords(props: {
  project: string;
  suggested: string[];
  value: string[];
  word: string;
  inputRef: React.RefObject<HTMLInputElement | null>;
  onChange: (keywords: string[], word: string) => void;
}) {
  const { project, suggested, value, word, inputRef, onChange } = props;
  const id = useId();
  const [at, setAt] = useState(-1);
  const prefix = useLater(word.trim(), 150);
  const [{ data }] = useQuery({ query: CompletionsDocument, variables: { project, prefix }, pause: !prefix });
  const has = (keyword: string) => value.some((other) => other.toLocaleLowerCase() === keyword.toLocaleLowerCase());
  const completed = (word.trim() ? (data?.project?.keywordCompletions ?? []) : []).filter(
    (keyword) => !has(keyword) && keyword.toLocaleLowerCase().startsWith(word.trim().toLocaleLowerCase()),
  );

  function add(keyword: string) {
    const plain = keyword.trim().slice(0, LONGEST);
    onChange(plain && !has(plain) && value.length < MOST ? [...value, plain] : value, '');
    setAt(-1);
  }

  function press(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.nativeEvent.isComposing) return;
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp': {
        if (!completed.length) break;
        event.preventDefault();
        setAt((at + (event.key === 'ArrowDown' ? 1 : -1) + completed.length + 1) % (completed.length + 1));
        break;
      }
      case 'Enter':
      case ',':
        event.preventDefault();
        add(completed[at] ?? word);
        break;
      case 'Tab':
        if (word.trim() && completed[0] && !event.shiftKey) {
          event.preventDefault();
          add(completed[Math.max(at, 0)] ?? word);
        }
        break;
      case 'Backspace':
        if (!word && value.length) onChange(value.slice(0, -1), '');
        break;
    }
  }

  return (
    <div className="keywords">
      <label htmlFor={`${id}-input`}>
        Keywords <kbd>w</kbd> <span className="muted"> up to {MOST}</span>
      </label>
      <LeaveHint />
      <div className="tokens">
        {value.map((keyword) => (
          <span key={keyword} className="token">
            {keyword}
            <button type="button" aria-label={`Remove ${keyword}`} onClick={() => onChange(value.filter((other) => other !== keyword), word)}>
              ×
            </button>
          </span>
        ))}
        <input
          id={`${id}-input`}
          ref={inputRef}
          role="combobox"
          aria-expanded={completed.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={completed[at] ? `${id}-${at}` : undefined}
          aria-autocomplete="list"
          autoComplete="off"
          maxLength={LONGEST}
          placeholder={value.length ? '' : 'Enter adds one'}
          value={word}
          disabled={value.length >= MOST}
          onChange={(event) => {
            setAt(-1);
            onChange(value, event.target.value);
          }}
          onKeyDown={press}
        />
      </div>
      <ul id={`${id}-list`} role="listbox" aria-label="Keywords" className="options">
        {(word.trim() ? completed : suggested.filter((keyword) => !has(keyword)).slice(0, 12)).map((keyword, i) => (
          <li
            key={keyword}
            id={`${id}-${i}`}
            role="option"
            aria-selected={false}
            className={i === at ? 'is-active' : undefined}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => add(keyword)}
          >
            {keyword}
          </li>
        ))}
      </ul>
    </div>
  );
}
