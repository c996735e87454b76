// People who use Chromium or Firefox by keyboard and mouse, by the same code: npm puppeteer-core drives both.

import puppeteer from 'puppeteer-core';
import { chromiumFlags, findChromium, findProgram } from './browser.js';
import { until } from './server.js';

const WAIT_MS = 30_000;
const MOST_TABS = 200; // presses of Tab that lead around a page

/** The browsers: their programs, and how they start so that no name can be resolved and downloads need no answer. */
const browsers = {
  chromium: (downloads) => ({
    browser: 'chrome',
    executablePath: findChromium(),
    args: chromiumFlags,
    downloadBehavior: { policy: 'allow', downloadPath: downloads },
  }),
  firefox: (downloads) => ({
    browser: 'firefox',
    executablePath: findProgram('FIREFOX_PATH', ['firefox-esr', 'firefox']),
    extraPrefsFirefox: {
      'network.dns.disabled': true,
      'browser.download.folderList': 2, // the folder that is named
      'browser.download.dir': downloads,
      'browser.download.alwaysOpenPanel': false,
      'ui.prefersReducedMotion': 1,
    },
  }),
};

export const browserNames = Object.keys(browsers);

/** Starts a browser with a fresh profile, which saves files into a directory. */
export function launch(name, downloads) {
  return puppeteer.launch({ ...browsers[name](downloads), headless: true, defaultViewport: { width: 1280, height: 900 } });
}

/**
 * Somebody opens a page in a context of their own. Their complaints() lists what must not happen; those that match `expected` are none. The
 * bucket of an embedded server has an origin of its own.
 */
export async function visit(browser, origin, address, { expected, downloads } = {}) {
  const context = await browser.createBrowserContext(downloads && { downloadBehavior: { policy: 'allow', downloadPath: downloads } });
  const page = await context.newPage();
  const complaints = [];
  page.on('request', (request) => {
    const { protocol, hostname, pathname, origin: of } = new URL(request.url());
    const isBucket = hostname === '127.0.0.1' && pathname.startsWith('/taggie/');
    if (!['data:', 'blob:'].includes(protocol) && of !== origin && of !== origin.replace(/^http/, 'ws') && !isBucket) complaints.push(`request to ${request.url()}`);
  });
  page.on('response', (response) => response.status() >= 400 && complaints.push(`${response.status()} for ${response.url()}`));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    if (!/ABORTED/.test(reason)) complaints.push(`failed: ${request.url()}: ${reason}`); // what the page itself gave up
  });
  page.on('console', (message) => ['error', 'warn'].includes(message.type()) && complaints.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  await page.evaluateOnNewDocument(() => {
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => console.error(`content security policy: ${effectiveDirective} ${blockedURI}`));
  });
  await page.goto(`${origin}${address}`);
  return { ...hands(page), page, context, complaints: () => complaints.filter((text) => !expected?.test(text)) };
}

const inFront = new WeakMap(); // the page that a browser shows

/** Shows the page as one that somebody looks at: Firefox hardly draws a page behind another, and keys wait for that. */
async function bringToFront(page) {
  const browser = page.browser();
  if (inFront.get(browser) === page) return;
  inFront.set(browser, page);
  await page.bringToFront();
}

/** What one does on a page, and looks for. Names are how they begin: a key may be shown behind them. `place` is the name of a part of the page. */
function hands(page) {
  /** Tries until it works; then says what the page shows instead. */
  async function patiently(what, attempt) {
    let last;
    await bringToFront(page);
    try {
      return await until(what, WAIT_MS, async () => {
        try {
          return await attempt();
        } catch (error) {
          last = error; // the page may be just drawing what is looked for, or be on its way to another address
          return false;
        }
      });
    } catch (error) {
      const shown = await page.evaluate(() => `${document.body.innerText}\n--- the cursor is in ---\n${document.activeElement?.outerHTML.slice(0, 200)}`).catch(String);
      throw new Error(`${error.message}${last ? ` (${last.message})` : ''}\n--- the page shows ---\n${shown}`, { cause: error });
    }
  }

  async function find(kind, name, place) {
    const handle = await page.evaluateHandle(findInPage, kind, name, place ?? null);
    const element = handle.asElement();
    if (!element) throw new Error(`there is no ${kind} “${name}”${place ? ` in “${place}”` : ''}`);
    return element;
  }
  const hasFocus = (element) => element.evaluate((node) => node === document.activeElement);

  const self = {
    /** Waits until the text is shown. */
    sees: (text, place) => patiently(`“${text}” is shown`, () => page.evaluate(isShownInPage, text, place ?? null)),
    /** Whether the text is shown now. */
    shows: (text, place) => page.evaluate(isShownInPage, text, place ?? null),
    /** Waits until the text is no longer shown. */
    seesNo: (text, place) => patiently(`“${text}” is not shown`, async () => !(await page.evaluate(isShownInPage, text, place ?? null))),
    /** Clicks with the mouse. */
    click: (kind, name, place) => patiently(`a click on the ${kind} “${name}”`, async () => {
      const element = await find(kind, name, place);
      await element.scrollIntoView();
      if (!(await element.evaluate(isOnTopInPage))) return false; // a message covers it for a moment
      await element.click();
      return true;
    }),
    /** Waits until the cursor is in a field, or on a button. */
    isIn: (kind, name, place) => patiently(`the cursor is in the ${kind} “${name}”`, async () => hasFocus(await find(kind, name, place))),
    /** Goes to a field by the mouse, and types in place of what is there. */
    async fill(name, text, place) {
      await self.click('field', name, place);
      await self.isIn('field', name, place);
      await self.press('Control+a');
      await self.type(text);
    },
    /** Goes to a list by the Tab key, and chooses by the first letters, or by the key End what comes last. */
    async choose(name, option, place) {
      const list = await patiently(`the list “${name}”`, () => find('field', name, place));
      const chosen = () => list.evaluate((node) => node.selectedOptions[0]?.text);
      if ((await chosen()) === option) return;
      const isLast = await list.evaluate((node, text) => [...node.options].at(-1).text === text, option);
      for (let tabs = 0; !(await hasFocus(list)); tabs += 1) {
        if (tabs > MOST_TABS) throw new Error(`Tab does not lead to “${name}”`);
        await self.press('Tab');
      }
      if (isLast) await self.press('End');
      else await self.type(option);
      await patiently(`“${option}” is chosen in “${name}”`, async () => (await chosen()) === option);
    },
    /** Chooses files in the dialog that a click on the field would open. */
    chooseFiles: (name, files) => patiently(`the field “${name}” takes files`, async () => {
      await (await find('field', name)).uploadFile(...files);
      return true;
    }),
    /** What stands in a field. */
    value: (name, place) => patiently(`the field “${name}”`, async () => ({ is: await (await find('field', name, place)).evaluate((node) => node.value) })).then(({ is }) => is),
    async type(text) {
      await bringToFront(page);
      await page.keyboard.type(text);
    },
    /** Presses keys one after another; `Control+Enter` are two at once. */
    async press(...presses) {
      await bringToFront(page);
      for (const keys of presses) {
        const all = keys.split('+');
        for (const key of all.slice(0, -1)) await page.keyboard.down(key);
        await page.keyboard.press(all.at(-1));
        for (const key of all.slice(0, -1).reverse()) await page.keyboard.up(key);
      }
    },
    /** Enters the address of the page, as a link that one was sent. */
    open: (url) => page.goto(url),
  };
  return self;
}

// These run in the page, each by itself.

/** Finds a visible button, link or field by how its name begins; one whose name is the text comes first. An open dialog hides the page behind it. */
function findInPage(kind, name, place) {
  const plain = (text) => (text ?? '').replace(/\s+/g, ' ').trim();
  const named = (node) => plain(node.getAttribute('aria-label') ?? document.getElementById(node.getAttribute('aria-labelledby'))?.textContent ?? node.labels?.[0]?.textContent ?? node.textContent);
  const dialog = document.querySelector('dialog[open]');
  const parts = place ? [...document.querySelectorAll('section, aside, nav, form, dialog[open], [role]')].filter((part) => named(part).startsWith(place)) : [dialog ?? document.body];
  const kinds = { button: 'button, summary', link: 'a[href]', field: 'input, textarea, select' };
  const all = parts.flatMap((part) => [...part.querySelectorAll(kinds[kind])]).filter((node) => node.getClientRects().length && !node.disabled && node.getAttribute('aria-disabled') !== 'true');
  return all.find((node) => named(node) === name) ?? all.find((node) => named(node).startsWith(name)) ?? null;
}

/** Whether a text is shown, in a part of the page if one is named. */
function isShownInPage(text, place) {
  const plain = (shown) => shown.replace(/\s+/g, ' ');
  const parts = place ? [...document.querySelectorAll('[aria-label]')].filter((part) => part.getAttribute('aria-label').startsWith(place)) : [document.body];
  return parts.some((part) => plain(part.innerText).includes(text));
}

/** Whether a click in the middle of an element would reach it. */
function isOnTopInPage(element) {
  const { x, y, width, height } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}
