// Renders Markdown. It is loaded when there is a text to show: the library is larger than many pages.
import MarkdownIt from 'markdown-it';

/** Below the headings of the page, and of the panel. */
const HEADINGS_BELOW = 2;

/** Creates what turns Markdown into HTML. HTML in the text is shown as it was written. Links lead to the web or to mail, in another tab; pictures that the page may not show are told by their text. */
export function createRenderer(mayShow: (url: string) => boolean): (text: string) => string {
  const markdown = new MarkdownIt({ html: false, linkify: true });
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
  markdown.validateLink = (url) => /^(https?|mailto):/i.test(url.trim());
  const { rules } = markdown.renderer;
  rules.link_open = (tokens, at, options, _, self) => {
    tokens[at]!.attrSet('target', '_blank');
    tokens[at]!.attrSet('rel', 'noopener noreferrer');
    return self.renderToken(tokens, at, options);
  };
  rules.image = (tokens, at, options, env, self) => {
    const token = tokens[at]!;
    const told = self.renderInlineAsText(token.children ?? [], options, env);
    if (!mayShow(String(token.attrGet('src')))) return `<span class="no-picture">${markdown.utils.escapeHtml(told || 'picture')}</span>`;
    token.attrSet('alt', told);
    token.attrSet('loading', 'lazy');
    return self.renderToken(tokens, at, options);
  };
  for (const part of ['heading_open', 'heading_close'] as const) {
    rules[part] = (tokens, at, options, _, self) => {
      const token = tokens[at]!;
      token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + HEADINGS_BELOW)}`;
      return self.renderToken(tokens, at, options);
    };
  }
  for (const part of ['th_open', 'td_open'] as const) {
    rules[part] = (tokens, at, options, _, self) => {
      const token = tokens[at]!;
      // The policy of the page allows no styles in the text.
      const side = /^text-align:(\w+)$/.exec(String(token.attrGet('style')))?.[1];
      token.attrs = side ? [['class', `is-${side}`]] : null;
      return self.renderToken(tokens, at, options);
    };
  }
  return (text) => markdown.render(text);
}
