import { useSettings } from './hooks';

/** How to get out of the field that has the cursor: single keys are typed into it. Shown in that field's line only. */
export function LeaveHint() {
  const { singleKeys } = useSettings();
  return singleKeys && <span className="leave-hint muted">Esc for single keys</span>;
}
