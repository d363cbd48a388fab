/** Colours of a page or picture, light or dark. */
export interface Theme {
  readonly name: 'light' | 'dark';
  readonly background: string;
  readonly ink: string;
  readonly muted: string;
  /** Behind a part of a figure that is pointed out. */
  readonly shade: string;
  readonly series: readonly string[];
}

/** Okabe and Ito, "Color universal design", 2008: told apart with any colour vision. Yellow, faint on white, is darkened and last. */
const onWhite = ['#1b2530', '#0072b2', '#009e73', '#e69f00', '#d55e00', '#cc79a7', '#56b4e9', '#a69b00'];
/** The same hues, lifted until they stand out from a dark ground. */
const onDark = ['#e8edf2', '#3f9fe0', '#2dbd93', '#f0b32e', '#f07c35', '#e29cc4', '#93d2f7', '#f0e442'];

export const light: Theme = {
  name: 'light',
  background: '#ffffff',
  ink: '#1b2530',
  muted: '#56616d',
  shade: '#eef2f6',
  series: onWhite,
};

export const dark: Theme = {
  name: 'dark',
  background: '#161c23',
  ink: '#e8edf2',
  muted: '#9fabb8',
  shade: '#212a34',
  series: onDark,
};

/** How one implementation looks in every figure: by colour, and without it by dash and symbol. */
export interface Style {
  readonly colour: string;
  readonly dash: string;
  readonly symbol: 'circle' | 'square' | 'triangle' | 'diamond' | 'star' | 'cross' | 'wye';
}

const dashes = ['none', '7 3', '2 3', '10 3 2 3', '5 2 1 2 1 2'];
const symbols: readonly Style['symbol'][] = ['circle', 'square', 'triangle', 'diamond', 'star', 'cross', 'wye'];

/** Eight colours, five dashes and seven symbols: no two of the first 280 look alike. */
export function styleAt(index: number, { series }: Theme): Style {
  return {
    colour: series[index % series.length]!,
    dash: dashes[index % dashes.length]!,
    symbol: symbols[index % symbols.length]!,
  };
}
