// What axe says of a page.

import axe from 'axe-core';

/** What axe finds on a page as it is, the elements by their rules. */
export async function axeFinds(page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}\n${failureSummary}`));
}
