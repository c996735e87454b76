import { useRef, useState } from 'react';
import { Choice } from './Choice';
import { Dialog } from './Dialog';
import { useBoard, useBoardState, useSettings } from './hooks';
import { KEYS } from './keys';
import { NewProject } from './manage/NewProject';
import type { Person, SkipReason } from './types';

const LATER = [10, 30, 120, 1440];
const laterNames: Record<number, string> = { 10: '10 minutes', 30: '30 minutes', 120: '2 hours', 1440: 'a day' };

/** Why an item is given up. */
export function SkipDialog({ name, onSkip, onClose }: { name: string; onSkip: (reason: SkipReason, minutes?: number) => void; onClose: () => void }) {
  const [minutes, setMinutes] = useState(30);
  const [sure, setSure] = useState(false);
  const choices: Record<string, () => void> = {
    l: () => onSkip('TO_ME_LATER', minutes),
    o: () => onSkip('TO_OTHERS'),
    x: () => setSure(true),
  };
  if (sure) {
    return (
      <Dialog key="sure" title="For nobody?" onClose={onClose}>
        <p>“{name}” will be shown to nobody any more, and nothing brings it back.</p>
        <div className="item-actions">
          <button type="button" data-first onClick={onClose}>
            Keep it <kbd>Esc</kbd>
          </button>
          <button type="button" className="danger" onClick={() => onSkip('FOR_NOBODY')}>
            Nobody can label it
          </button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog
      title="Skip"
      onClose={onClose}
      onKey={(key) => {
        choices[key]?.();
        return key in choices;
      }}
    >
      <p className="muted">“{name}”</p>
      <div className="skip-choices">
        <button type="button" data-first onClick={choices.l}>
          <kbd>l</kbd> <span><strong>Later</strong> It comes back to me, unless somebody else takes it.</span>
        </button>
        <label className="inline">
          in{' '}
          <select value={minutes} onChange={(event) => setMinutes(Number(event.target.value))}>
            {LATER.map((value) => (
              <option key={value} value={value}>
                {laterNames[value]}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={choices.o}>
          <kbd>o</kbd> <span><strong>Others</strong> I do not want to see it again.</span>
        </button>
        <button type="button" onClick={choices.x}>
          <kbd>x</kbd> <span><strong>Nobody</strong> It cannot be labelled.</span>
        </button>
      </div>
    </Dialog>
  );
}

/** What the keys do, and what one can choose about them. */
export function HelpDialog({ onClose }: { onClose: () => void }) {
  const { settings } = useBoard();
  const { ahead, singleKeys } = useSettings();
  return (
    <Dialog title="Keys" onClose={onClose} wide onKey={(key) => key === '?' && (onClose(), true)}>
      <div className="help">
        {KEYS.map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, what]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>As you like it</h3>
          <label className="inline">
            <input type="checkbox" checked={singleKeys} onChange={(event) => settings.set({ singleKeys: event.target.checked })} /> Single keys do something
          </label>
          <label className="inline">
            Keep{' '}
            <select value={ahead} onChange={(event) => settings.set({ ahead: Number(event.target.value) })}>
              {[0, 1, 2, 3, 5, 10].map((count) => (
                <option key={count} value={count}>
                  {count}
                </option>
              ))}
            </select>{' '}
            items ready: when one is done, the next are claimed
          </label>
          <p className="muted">What you type is kept in this browser until it is finished, over reloads, lost connections and lost claims.</p>
        </section>
      </div>
    </Dialog>
  );
}

/** Which project is shown; and how to make another one. */
export function ProjectDialog({ onClose }: { onClose: () => void }) {
  const { store } = useBoard();
  const { projects, project } = useBoardState();
  const [isMaking, setIsMaking] = useState(false);
  if (isMaking) {
    return (
      <Dialog key="new" title="New project" onClose={onClose}>
        <NewProject onDone={onClose} onCancel={() => setIsMaking(false)} />
      </Dialog>
    );
  }
  return (
    <Dialog title="Projects" onClose={onClose}>
      <Projects
        projects={projects}
        current={project?.id}
        onChoose={(id) => {
          if (id !== project?.id) void store.choose(id);
        }}
        onDone={onClose}
      />
      <div className="actions">
        <button type="button" onClick={() => setIsMaking(true)}>
          New project
        </button>
      </div>
    </Dialog>
  );
}

/** The projects of the user, to choose from. */
export function Projects(props: { projects: Person[]; current?: string; onChoose: (id: string) => void; onDone?: () => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div className="projects">
      <Choice
        label="Open"
        first
        options={props.projects}
        value={props.current ?? ''}
        inputRef={input}
        onChange={props.onChoose}
        onDone={() => props.onDone?.()}
      />
    </div>
  );
}
