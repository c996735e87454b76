import { useRef, type RefObject } from 'react';
import { Choice } from './Choice';
import { useBoard, useBoardState } from './hooks';
import { Keywords } from './Keywords';
import { useKeys } from './keys';

/** What somebody says an item is, while it is being typed. */
export interface Labels {
  categoryId: string;
  subcategoryId: string;
  keywords: string[];
  /** The keyword that is not entered yet. */
  word: string;
}

/** The fields in which one says what an item is, one after the other: category, subcategory and keywords, with a key for each. */
export function LabelFields(props: { value: Labels; category: RefObject<HTMLInputElement | null>; isNumbered?: boolean; onChange: (change: Partial<Labels>) => void }) {
  const { value, category, isNumbered, onChange } = props;
  const { settings } = useBoard();
  const { project } = useBoardState();
  const subcategory = useRef<HTMLInputElement>(null);
  const keywords = useRef<HTMLInputElement>(null);
  useKeys(settings, {
    c: () => category.current?.focus(),
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
        isNumbered={isNumbered}
        inputRef={category}
        onChange={(categoryId) => onChange({ categoryId })}
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
          onChange={(subcategoryId) => onChange({ subcategoryId })}
          onDone={() => keywords.current?.focus()}
        />
      ) : null}
      <Keywords
        project={project?.id ?? ''}
        suggested={project?.suggestedKeywords ?? []}
        value={value.keywords}
        word={value.word}
        inputRef={keywords}
        onChange={(words, word) => onChange({ keywords: words, word })}
      />
    </>
  );
}
