import type { Choice, Choices } from '../figure/figure.ts';

/** Up to here options stand side by side; more are in a list. */
const mostSegments = 5;

export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Partial<HTMLElementTagNameMap[K]>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function segments(name: string, { label, options }: Choice, value: string, choose: (value: string) => void): Node {
  const buttons = options.map((option) => {
    const input = make('input', { type: 'radio', name, value: option.value, checked: option.value === value });
    input.addEventListener('change', () => choose(option.value));
    return make('label', {}, input, make('span', {}, option.label));
  });
  return make('fieldset', {}, make('legend', {}, label), make('div', { className: 'segments' }, ...buttons));
}

function list(name: string, { label, options }: Choice, value: string, choose: (value: string) => void): Node {
  const items = options.map((option) =>
    make('option', { value: option.value, selected: option.value === value }, option.label),
  );
  const select = make('select', { name }, ...items);
  select.addEventListener('change', () => choose(select.value));
  return make('label', { className: 'pick' }, label, select);
}

function slider(name: string, { label, options }: Choice, value: string, choose: (value: string) => void): Node {
  const at = options.findIndex((option) => option.value === value);
  const input = make('input', { type: 'range', name, min: '0', max: String(options.length - 1), value: String(at) });
  const said = make('output', {}, options[at]!.label);
  input.setAttribute('aria-valuetext', options[at]!.label);
  input.addEventListener('input', () => {
    const option = options[input.valueAsNumber]!;
    said.textContent = option.label;
    input.setAttribute('aria-valuetext', option.label);
    choose(option.value);
  });
  return make('label', { className: 'pick slider' }, label, input, said);
}

const offers = (offered: readonly Choice[]) => JSON.stringify(offered);

/** What can be chosen for a figure; left as it is, focus included, if the same is on offer as before. */
export function controls(
  panel: HTMLElement,
  figure: string,
  offered: readonly Choice[],
  choices: Choices,
  choose: (id: string, value: string) => void,
): void {
  const worth = offered.filter(({ options }) => options.length > 1);
  if (panel.dataset.offers === offers(worth)) return;
  panel.dataset.offers = offers(worth);
  panel.replaceChildren(
    ...worth.map((choice) => {
      const kind = choice.slider ? slider : choice.options.length <= mostSegments ? segments : list;
      return kind(`${figure}-${choice.id}`, choice, choices[choice.id]!, (value) => choose(choice.id, value));
    }),
  );
}
