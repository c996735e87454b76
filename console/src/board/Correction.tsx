import { useEffect, useRef } from 'react';
import { Choice } from './Choice';
import type { CorrectionInput } from './gql/graphql';
import { useBoard, useBoardState } from './hooks';
import { Keywords } from './Keywords';
import { useKeys } from './keys';
import type { Held } from './types';

/** What a reviewer says an item is, while it is being typed. */
export interface Correction {
  categoryId: string;
  subcategoryId: string;
  keywords: string[];
  /** The keyword that is not entered yet. */
  word: string;
}

/** Begins with what was found. */
export const correctionOf = ({ category, subcategory, keywords }: Held): Correction => ({ categoryId: category?.id ?? '', subcategoryId: subcategory?.id ?? '', keywords, word: '' });

/** What is sent of it. */
export const inputOf = ({ categoryId, subcategoryId, keywords, word }: Correction): CorrectionInput => ({
  categoryId,
  subcategoryId: subcategoryId || null,
  keywords: [...new Set([...keywords, word.trim()])].filter(Boolean),
});

/** Whether it says nothing but what was found. */
export function isAsFound(item: Held, correction: Correction): boolean {
  const { categoryId, subcategoryId, keywords } = inputOf(correction);
  return categoryId === item.category?.id && (subcategoryId ?? '') === (item.subcategory?.id ?? '') && keywords?.join('\n') === item.keywords.join('\n');
}

/** The fields in which a reviewer says what an item is. The cursor goes to the first one. */
export function CorrectionFields({ value, onChange }: { value: Correction; onChange: (value: Correction) => void }) {
  const { settings } = useBoard();
  const { project } = useBoardState();
  const category = useRef<HTMLInputElement>(null);
  const subcategory = useRef<HTMLInputElement>(null);
  const keywords = useRef<HTMLInputElement>(null);
  useEffect(() => category.current?.focus({ preventScroll: true }), []);
  useKeys(settings, {
    c: () => category.current?.focus(),
    e: () => category.current?.focus(),
    b: () => subcategory.current?.focus(),
    w: () => keywords.current?.focus(),
  });
  return (
    <>
      <Choice
        label="Category"
        hint="c"
        options={project?.categories ?? []}
        value={value.categoryId}
        inputRef={category}
        onChange={(categoryId) => onChange({ ...value, categoryId })}
        onDone={() => (subcategory.current ?? keywords.current)?.focus()}
      />
      {project?.subcategories?.length ? (
        <Choice
          label="Subcategory"
          hint="b"
          optional
          options={project.subcategories}
          value={value.subcategoryId}
          inputRef={subcategory}
          onChange={(subcategoryId) => onChange({ ...value, subcategoryId })}
          onDone={() => keywords.current?.focus()}
        />
      ) : null}
      <Keywords
        project={project?.id ?? ''}
        suggested={project?.suggestedKeywords ?? []}
        value={value.keywords}
        word={value.word}
        inputRef={keywords}
        onChange={(words, word) => onChange({ ...value, keywords: words, word })}
      />
    </>
  );
}
