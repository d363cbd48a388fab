import { UserError } from '../base/error.ts';
import type { Formula } from '../base/formula.ts';

/** What one line of a step says, as in `s = W(x - eta*d)`. Conditions hold in some steps only: `every H { … } else { … }`, `at 3, 9 { … }`, `first { … }`, `last { … }`, `if r >= 1 { … }`. */
export type Line =
  | { readonly line: number; readonly set: string; readonly to: Formula }
  | { readonly line: number; readonly send: string; readonly message: Formula }
  | {
      readonly line: number;
      readonly when: When;
      readonly inside: readonly Line[];
      readonly otherwise: readonly Line[];
    };

export type When = Every | At | Decided | 'first' | 'last';
/** After so many steps, again and again. */
export interface Every {
  readonly every: string;
}
/** After these numbers of steps. */
export interface At {
  readonly at: readonly number[];
}
/** Decided when a step begins, by what numbers were then. */
export interface Decided {
  readonly if: Formula;
  readonly least: Formula;
}

interface Token {
  readonly text: string;
  readonly line: number;
}

const pattern = /\s*(?:(\d+(?:\.\d+)?(?:e[-+]?\d+)?|\.\d+|[A-Za-z]\w*|\+=|>=|[-+*/^=(){},;])|(\n)|(#[^\n]*)|(\S))/gy;

function tokens(text: string): Token[] {
  const found: Token[] = [];
  text.split('\n').forEach((content, index) => {
    for (const [, token, , , wrong] of content.matchAll(pattern)) {
      if (wrong !== undefined) throw new UserError(`line ${index + 1}: "${wrong}" has no meaning here`);
      if (token !== undefined) found.push({ text: token, line: index + 1 });
    }
    found.push({ text: ';', line: index + 1 });
  });
  return found;
}

const isName = (text: string | undefined) => text !== undefined && /^[A-Za-z]/.test(text);
const isNumber = (text: string | undefined) => text !== undefined && /^[.\d]/.test(text);

/** Reads the text of a step; mistakes name the line. */
export function parseStep(text: string): readonly Line[] {
  const list = tokens(text);
  let at = 0;
  const here = () => list[at]?.text;
  const line = () => list[Math.min(at, list.length - 1)]?.line ?? 1;
  const fail = (why: string): never => {
    throw new UserError(`line ${line()}: ${why}, got ${here() === undefined ? 'the end' : `"${here()}"`}`);
  };
  const take = (text: string) => (here() === text ? list[at++] : fail(`expected "${text}"`));
  const takeName = (): string => (isName(here()) ? list[at++]!.text : fail('expected a name'));
  const skipEnds = () => {
    while (here() === ';') at++;
  };

  function block(): Line[] {
    take('{');
    const lines = body('}');
    take('}');
    return lines;
  }

  function body(end: string | undefined): Line[] {
    const lines: Line[] = [];
    for (skipEnds(); here() !== end; skipEnds()) {
      lines.push(statement());
      if (here() !== ';' && here() !== end) fail('expected the end of the line');
    }
    return lines;
  }

  function statement(): Line {
    const start = line();
    const name = takeName();
    if (here() === '=') {
      at++;
      return { line: start, set: name, to: sum() };
    }
    if (here() === '+=') {
      at++;
      const call = sum();
      if (!('op' in call && call.op === 'C')) fail(`"${name} +=" is for compressed messages, as in h += C(x - h)`);
      return { line: start, send: name, message: (call as { of: readonly Formula[] }).of[0]! };
    }
    const when = condition(name);
    const inside = block();
    const before = at;
    skipEnds();
    if (here() !== 'else') {
      at = before;
      return { line: start, when, inside, otherwise: [] };
    }
    at++;
    return { line: start, when, inside, otherwise: block() };
  }

  function condition(name: string): When {
    if (name === 'first' || name === 'last') return name;
    if (name === 'every') return { every: takeName() };
    if (name === 'at') return { at: steps() };
    if (name !== 'if') fail('expected "=", "+=" or a condition');
    const given = sum();
    take('>=');
    return { if: given, least: sum() };
  }

  function steps(): number[] {
    const found = [];
    do found.push(isNumber(here()) ? Number(list[at++]!.text) : fail('expected the number of a step'));
    while (here() === ',' && at++ >= 0);
    return found;
  }

  function operators(next: () => Formula, ...ops: readonly string[]): Formula {
    let left = next();
    while (ops.includes(here() ?? '')) {
      const op = list[at++]!.text;
      left = { op, of: [left, next()] };
    }
    return left;
  }

  const sum = (): Formula => operators(product, '+', '-');
  const product = (): Formula => operators(signed, '*', '/');

  function signed(): Formula {
    if (here() !== '-') return power();
    at++;
    return { op: 'negative', of: [signed()] };
  }

  function power(): Formula {
    const base = atom();
    if (here() !== '^') return base;
    at++;
    return { op: '^', of: [base, atom()] };
  }

  function atom(): Formula {
    if (here() === '(') {
      at++;
      const inner = sum();
      take(')');
      return inner;
    }
    if (isNumber(here())) return { value: Number(list[at++]!.text) };
    const name = takeName();
    if (here() !== '(') return { name };
    at++;
    const of = [sum()];
    while (here() === ',') {
      at++;
      of.push(sum());
    }
    take(')');
    return { op: name, of };
  }

  return body(undefined);
}

/** The text of a step for people: a statement per line, a short block in one, indented by the blocks they are in. */
export function linesOf(text: string): string[] {
  const count = (line: string, brace: string) => line.split(brace).length - 1;
  let depth = 0;
  return text
    .split('\n')
    .flatMap((line) => line.split(/;\s*(?![^{]*\})/))
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const indent = '  '.repeat(line.startsWith('}') ? depth - 1 : depth);
      depth += count(line, '{') - count(line, '}');
      return indent + line;
    });
}
