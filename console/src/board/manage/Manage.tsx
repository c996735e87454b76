import { useEffect, useState } from 'react';
import { fromAddress, hashOf } from '../store';
import { useKeptFocus } from '../focus';
import { Guidelines } from './Guidelines';
import { Items } from './Items';
import { People } from './People';
import { Results } from './Results';
import { Rules } from './Rules';

const sections = [
  ['items', 'Items'],
  ['results', 'Results'],
  ['people', 'People'],
  ['guidelines', 'Guidelines'],
  ['rules', 'Rules'],
] as const;
type Section = (typeof sections)[number][0];

const named = (name: string): Section => sections.find(([section]) => section === name)?.[0] ?? 'items';

/** What managers do: bring items, look at results, take people in, say how to label, set the rules. Each section has an address. */
export function Manage() {
  const [section, setSection] = useState(() => named(fromAddress().section));
  useEffect(() => {
    const follow = () => setSection(named(fromAddress().section));
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  const box = useKeptFocus<HTMLDivElement>();
  return (
    <div className="manage" ref={box}>
      <nav aria-label="Sections">
        {sections.map(([name, title]) => (
          <a key={name} href={hashOf({ ...fromAddress(), page: 'manage', section: name })} aria-current={name === section ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {section === 'items' && <Items />}
      {section === 'results' && <Results />}
      {section === 'people' && <People />}
      {section === 'guidelines' && <Guidelines />}
      {section === 'rules' && <Rules />}
    </div>
  );
}
