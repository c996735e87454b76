// Writes the documentation as pages beside those that were built, so that it is there where the server is: README.md and what is in docs/, without
// the decisions. Links to files that are no pages become plain text.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import MarkdownIt from 'markdown-it';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = fileURLToPath(new URL('dist/docs', import.meta.url));

const names = (folder, ext) => readdirSync(path.join(root, folder)).filter((name) => name.endsWith(ext)).map((name) => `${folder}/${name}`);

/** The page of each file of the repository. */
const pages = new Map(['README.md', ...names('docs', '.md'), ...names('docs/tour', '.md')].map((file) => [file, file === 'README.md' ? 'index.html' : file.slice('docs/'.length).replace(/\.md$/, '.html')]));
const pictures = new Map(names('docs/pictures', '.png').map((file) => [file, file.slice('docs/'.length)]));

/** A heading as the part of an address behind "#", as GitHub makes it. */
const slug = (heading) => heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-');

/** Where a link of a file leads from its page; null if that is nowhere. */
function target(href, file) {
  if (/^(https?:|mailto:|#)/.test(href)) return href;
  const [to, hash] = href.split('#');
  const wanted = path.posix.normalize(path.posix.join(path.posix.dirname(file), to));
  const page = pages.get(wanted) ?? pictures.get(wanted);
  if (!page) return null;
  return path.posix.relative(path.posix.dirname(pages.get(file)), page) + (hash ? `#${hash}` : '');
}

function render(file) {
  const markdown = new MarkdownIt({ html: false });
  const { rules } = markdown.renderer;
  const seen = new Map();
  const open = [];
  rules.link_open = (tokens, at, options, _, self) => {
    const href = target(String(tokens[at].attrGet('href')), file);
    open.push(href);
    if (href === null) return '<span class="file">';
    tokens[at].attrSet('href', href);
    return self.renderToken(tokens, at, options);
  };
  rules.link_close = () => (open.pop() === null ? '</span>' : '</a>');
  rules.image = (tokens, at) => {
    const src = target(String(tokens[at].attrGet('src')), file);
    return src === null ? '' : `<img src="${src}" alt="${markdown.utils.escapeHtml(tokens[at].content)}" />`;
  };
  rules.heading_open = (tokens, at, options, _, self) => {
    const name = slug(tokens[at + 1].children.map(({ content }) => content).join(''));
    const times = seen.get(name) ?? 0;
    seen.set(name, times + 1);
    tokens[at].attrSet('id', times ? `${name}-${times}` : name);
    return self.renderToken(tokens, at, options);
  };
  // A keyboard must reach what is scrolled.
  rules.table_open = () => '<div class="scroll" tabindex="0"><table>\n';
  rules.table_close = () => '</table></div>\n';
  rules.fence = (tokens, at) => `<pre tabindex="0"><code>${markdown.utils.escapeHtml(tokens[at].content)}</code></pre>\n`;
  for (const part of ['th_open', 'td_open']) {
    rules[part] = (tokens, at) => {
      const side = /right|center/.exec(String(tokens[at].attrGet('style')))?.[0];
      if (!tokens[at + 1].content) tokens[at].tag = tokens[at + 2].tag = 'td'; // an empty cell is the head of nothing
      return `<${tokens[at].tag}${side ? ` class="is-${side}"` : ''}>`; // the pages allow no inline style
    };
  }
  // What is said to those who test the documentation.
  const text = readFileSync(path.join(root, file), 'utf8').replace(/^<!--.*?-->\n/gms, '');
  return { html: markdown.render(text), title: /^# (.+)$/m.exec(text)?.[1] ?? file };
}

for (const [file, page] of pages) {
  const { html, title } = render(file);
  const up = '../'.repeat(page.split('/').length - 1);
  const whole = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<title>${title === 'Taggie' ? 'Taggie: documentation' : `${title.replace(/[`*]/g, '')} – Taggie`}</title>
<link rel="icon" type="image/svg+xml" href="${up}../favicon.svg" />
<link rel="stylesheet" href="${up}docs.css" />
</head>
<body>
<header><nav aria-label="Pages"><a href="${up}../start">Start</a> <a href="${up}index.html">Documentation</a> <a href="${up}../board">Board</a> <a href="${up}../desk">Notes</a> <a href="${up}../">GraphiQL</a></nav></header>
<main>
${html}</main>
</body>
</html>
`;
  mkdirSync(path.dirname(path.join(out, page)), { recursive: true });
  writeFileSync(path.join(out, `${page}.gz`), gzipSync(whole, { level: 9 }));
}
for (const [file, name] of pictures) {
  mkdirSync(path.dirname(path.join(out, name)), { recursive: true });
  copyFileSync(path.join(root, file), path.join(out, name));
}
