import { useEffect, useRef } from 'react';
import type { CorrectionInput } from './gql/graphql';
import { useBoard } from './hooks';
import { useKeys } from './keys';
import { LabelFields, type Labels } from './LabelFields';
import type { Held } from './types';

/** Begins with what was found. */
export const correctionOf = ({ category, subcategory, keywords }: Held): Labels => ({ categoryId: category?.id ?? '', subcategoryId: subcategory?.id ?? '', keywords, word: '' });

/** What is sent of it. */
export const inputOf = ({ categoryId, subcategoryId, keywords, word }: Labels): CorrectionInput => ({
  categoryId,
  subcategoryId: subcategoryId || null,
  keywords: [...new Set([...keywords, word.trim()])].filter(Boolean),
});

/** Whether it says nothing but what was found. */
export function isAsFound(item: Held, correction: Labels): boolean {
  const { categoryId, subcategoryId, keywords } = inputOf(correction);
  return categoryId === item.category?.id && (subcategoryId ?? '') === (item.subcategory?.id ?? '') && keywords?.join('\n') === item.keywords.join('\n');
}

/** The fields in which a reviewer says what an item is. The cursor goes to the first one. */
export function CorrectionFields({ value, onChange }: { value: Labels; onChange: (value: Labels) => void }) {
  const { settings } = useBoard();
  const category = useRef<HTMLInputElement>(null);
  useEffect(() => category.current?.focus({ preventScroll: true }), []);
  useKeys(settings, { e: () => category.current?.focus() });
  return <LabelFields value={value} category={category} onChange={(change) => onChange({ ...value, ...change })} />;
}
