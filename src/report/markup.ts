/** Markup that is known to be safe. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = Markup | string | number | null | undefined | readonly Content[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function rendered(content: Content): string {
  if (content === null || content === undefined) return '';
  if (content instanceof Markup) return content.text;
  if (typeof content === 'object') return content.map(rendered).join('');
  return String(content).replaceAll(/[&<>"']/g, (c) => entities[c]!);
}

/** A template whose values are escaped, unless they are markup themselves. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Markup {
  return new Markup(strings.map((text, i) => text + rendered(values[i])).join(''));
}

/** JSON for a script element: nothing in it can end the element or begin a comment. */
export function scriptData(data: unknown): Markup {
  return new Markup(JSON.stringify(data).replaceAll('<', '\\u003c'));
}

/** A program for a script element; `<` can be written so in strings and regular expressions, and nowhere else do these occur. */
export function script(program: string): Markup {
  return new Markup(program.replaceAll(/<(?=\/script|script|!--)/gi, '\\x3c'));
}
