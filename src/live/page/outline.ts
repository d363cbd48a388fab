/** What a text in YAML says so far, as far as an editor needs it: which key stands where. It may be wrong or half written. */

/** A key with what stands behind it. */
export interface WrittenKey {
  /** Keys from the outermost to its group; the third of a list is `[2]`. */
  readonly path: readonly string[];
  readonly key: string;
  readonly value: string;
  /** Where it stands in the text. */
  readonly at: number;
}

interface Level {
  readonly indent: number;
  readonly key: string;
}

interface Flow {
  readonly list: boolean;
  key: string | undefined;
  item: number;
}

const token =
  /\n[ ]*|#[^\n]*|- (?=\s*\S)|- ?(?=\n|$)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[\w.+-]+:(?=[\s}]|$)|[{}[\],]|[^\s{}[\],#"']+|[ ]+/g;

/** Goes through a text and tells every key; `path` is that of the group at its end. */
export class Outline {
  readonly entries: WrittenKey[] = [];
  #levels: Level[] = [];
  #flow: Flow[] = [];
  readonly #items = new Map<string, number>();

  constructor(text: string) {
    let line = 0;
    for (const found of text.matchAll(token)) {
      const [word] = found;
      const at = found.index;
      if (word.startsWith('\n')) {
        line = at + 1;
        continue;
      }
      if (word.startsWith('#') || word.trim() === '') continue;
      this.#take(word, at, at - line);
    }
  }

  #take(word: string, at: number, column: number): void {
    const flow = this.#flow.at(-1);
    if (word === '{' || word === '[') this.#flow.push({ list: word === '[', key: undefined, item: 0 });
    else if (word === '}' || word === ']') this.#flow.pop();
    else if (word === ',' && flow !== undefined) {
      flow.key = undefined;
      flow.item += 1;
    } else if (flow === undefined && /^- ?$/.test(word)) this.#item(column);
    else if (/:$/.test(word)) this.#key(word.slice(0, -1), at, column);
    else this.#value(word);
  }

  /** One of a list, which may stand as far to the left as the key of the list. */
  #item(column: number): void {
    this.#leave(column + 1);
    if (this.#levels.at(-1)?.indent === column && this.#levels.at(-1)!.key.startsWith('[')) this.#levels.pop();
    const list = this.#keys().join('.');
    const index = this.#items.get(list) ?? 0;
    this.#items.set(list, index + 1);
    this.#levels.push({ indent: column, key: `[${index}]` });
  }

  #key(key: string, at: number, column: number): void {
    const flow = this.#flow.at(-1);
    if (flow === undefined) this.#leave(column);
    else flow.key = undefined;
    this.entries.push({ path: this.path, key, value: '', at });
    if (flow === undefined) this.#levels.push({ indent: column, key });
    else flow.key = key;
  }

  #value(text: string): void {
    const last = this.entries.pop();
    if (last !== undefined) this.entries.push(last.value === '' ? { ...last, value: text } : last);
  }

  /** Groups that end where something stands at this column. */
  #leave(column: number): void {
    while (this.#levels.length > 0 && this.#levels.at(-1)!.indent >= column) this.#levels.pop();
  }

  #keys(): string[] {
    return this.#levels.map(({ key }) => key);
  }

  get inFlow(): boolean {
    return this.#flow.length > 0;
  }

  /** Whether a value is awaited, after `key:` within braces. */
  get awaits(): boolean {
    const flow = this.#flow.at(-1);
    return flow !== undefined && (flow.list || flow.key !== undefined);
  }

  /** Of what comes next, within braces or at this column. */
  pathAt(column: number): string[] {
    if (!this.inFlow) this.#leave(column);
    return this.path;
  }

  get path(): string[] {
    const within = this.#flow.flatMap(({ list, key, item }) => (list ? [`[${item}]`] : key === undefined ? [] : [key]));
    return [...this.#keys(), ...within];
  }
}
