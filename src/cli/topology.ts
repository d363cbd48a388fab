import { Command, Option } from 'commander';
import type { z } from 'zod';
import { UserError } from '../base/error.ts';
import { writeWhole } from '../base/file.ts';
import { drawTopology } from '../draw/topology.ts';
import { override } from '../experiment/experiment.ts';
import { withRounds } from '../module/load.ts';
import { type Kind, weightRules } from '../topology/kind.ts';
import { kinds, needsFile } from '../topology/kinds.ts';
import { summarize, type TopologySummary } from '../topology/summary.ts';
import { buildTopology, replicasOf } from '../topology/topology.ts';
import { jsonOption, setOption } from './options.ts';
import { bytes, fields, number, table, textWidth, wrap, yesNo } from './print.ts';

interface Options {
  readonly n?: number;
  readonly seed: number;
  readonly parameters?: number;
  readonly json?: true;
  readonly svg?: string;
  readonly set?: readonly string[];
  readonly [setting: string]: unknown;
}

/** Text that is no number stays text: the schema then says what is allowed. */
const numeric = (text: string) => (text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text));

/** The schema under `.optional()` and `.default()`. */
function inner(schema: z.ZodType): z.ZodType {
  const def = schema.def as { innerType?: z.ZodType };
  return def.innerType === undefined ? schema : inner(def.innerType);
}

/** An option for each setting of a kind, from its schema. */
function settingOptions(kind: Kind): Option[] {
  const settings = Object.entries(kind.settings as Record<string, z.ZodType>).filter(
    ([, schema]) => inner(schema).type !== 'array',
  );
  return settings.map(([name, schema]) => {
    const { type, options } = inner(schema) as { type: string; options?: string[] };
    const flag =
      name.length === 1 ? `-${name}, --${name}` : `--${name.replaceAll(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;
    const description = schema.description ?? '';
    if (type === 'boolean') return new Option(flag, description);
    if (type === 'number') return new Option(`${flag} <number>`, description).argParser(numeric);
    return new Option(`${flag} <${options?.join('|') ?? 'text'}>`, description);
  });
}

function common(command: Command): Command {
  return command
    .addOption(new Option('-n, --n <replicas>', 'number of replicas').argParser(numeric))
    .addOption(new Option('--seed <number>', 'for random kinds').argParser(numeric).default(1))
    .addOption(new Option('--parameters <count>', 'size of the model, to show bytes').argParser(numeric))
    .addOption(jsonOption());
}

function seedOf({ seed }: Options): number {
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new UserError(`--seed must be a whole number from 0, got "${seed}"`);
}

function parametersOf({ parameters }: Options): number | undefined {
  if (parameters === undefined || (Number.isSafeInteger(parameters) && parameters > 0)) return parameters;
  throw new UserError(`--parameters must be a whole number from 1, got "${parameters}"`);
}

function degreeText({ degree, directed }: TopologySummary): string {
  const heard = directed ? 'heard' : degree.max === 1 && degree.min === 1 ? 'neighbour' : 'neighbours';
  if (degree.min === degree.max) return `${number(degree.mean)} ${heard} each`;
  return `${number(degree.mean, 3)} ${heard} on average, ${number(degree.min)} to ${number(degree.max)}`;
}

function sentText({ floatsSentPerParameter: sent }: TopologySummary, parameters: number | undefined): string {
  const each =
    sent.min === sent.max ? number(sent.mean) : `${number(sent.mean, 3)} (${number(sent.min)} to ${number(sent.max)})`;
  if (parameters === undefined) return `${each} × parameters by a replica, ${number(sent.total)} × by all`;
  return `${number(sent.mean * parameters)} by a replica (${bytes(4 * sent.mean * parameters)}), ${bytes(4 * sent.total * parameters)} by all`;
}

function report(summary: TopologySummary, parameters: number | undefined): string {
  const { spectralGapOf: of, spectralGapError: error } = summary;
  const period =
    summary.periodSteps === null
      ? 'drawn anew at each step'
      : summary.periodSteps === 1
        ? 'static'
        : `repeats every ${summary.periodSteps} steps`;
  return [
    `${summary.kind}, ${number(summary.n)} replica${summary.n === 1 ? '' : 's'}, ${summary.directed ? 'directed' : 'undirected'}, ${period}`,
    fields([
      ['degree', degreeText(summary)],
      ['edges per step', number(summary.edges)],
      ['diameter', summary.diameter === null ? 'not connected' : number(summary.diameter)],
      [
        'spectral gap',
        `${number(summary.spectralGap)}${error === 0 ? '' : ` ± ${number(error, 1)}`}${of === 'W' ? '' : ` per step, of ${of === 'product over the period' ? 'the ' : ''}${of}`}`,
      ],
      [
        'mixing time',
        summary.mixingSteps === null
          ? 'never'
          : `${number(summary.mixingSteps)} step${summary.mixingSteps === 1 ? '' : 's'} to shrink differences to 1 %`,
      ],
      ['floats sent per step', sentText(summary, parameters)],
      ['doubly stochastic', yesNo(summary.doublyStochastic)],
    ]),
  ].join('\n');
}

function kindCommand(kind: Kind): Command {
  const command = common(new Command(kind.name).aliases([...kind.aliases]).description(kind.summary))
    .addOption(new Option('--weights <rule>', `mixing weights: ${weightRules.join(', ')}`))
    .option('--svg <file>', 'draw it')
    .helpOption('-h, --help');
  for (const option of settingOptions(kind)) command.addOption(option);
  if (kind.open) command.addOption(setOption('a setting of the module'));
  return command.action((options: Options) => {
    const given: { kind: string; [setting: string]: unknown } = { kind: kind.name };
    for (const name of [...Object.keys(kind.settings), 'weights'])
      if (options[name] !== undefined) given[name] = options[name];
    const parameters = parametersOf(options);
    const [n, seed] = [replicasOf(given, options.n), seedOf(options)];
    const named = (options.set ?? []).reduce<unknown>(override, given) as typeof given;
    const topology = buildTopology(withRounds(named, n, seed), n, seed);
    const summary = summarize(topology);
    if (options.svg !== undefined) {
      writeWhole(options.svg, drawTopology(topology, summary));
      console.error(`wrote ${options.svg}`);
    }
    console.log(
      options.json
        ? JSON.stringify(
            parameters === undefined ? summary : { ...summary, ...sentBytes(summary, parameters) },
            null,
            2,
          )
        : report(summary, parameters),
    );
  });
}

function sentBytes({ floatsSentPerParameter: sent }: TopologySummary, parameters: number) {
  return { parameters, sentBytesPerStep: { mean: 4 * sent.mean * parameters, total: 4 * sent.total * parameters } };
}

interface Compared {
  readonly kind: string;
  readonly summary?: TopologySummary;
  readonly gapPerEdge?: number;
  readonly reason?: string;
}

/** Every kind with its default settings; those that do not exist for this n say why. */
function compareAll(n: number, seed: number): Compared[] {
  const rows = kinds
    .filter((kind) => !needsFile(kind))
    .map(({ name: kind }): Compared => {
      try {
        const summary = summarize(buildTopology({ kind }, n, seed));
        return { kind, summary, gapPerEdge: summary.edges === 0 ? 0 : summary.spectralGap / summary.edges };
      } catch (error) {
        if (!(error instanceof UserError) || n < 1 || !Number.isInteger(n)) throw error;
        return { kind, reason: error.message };
      }
    });
  return rows.sort((a, b) => (b.gapPerEdge ?? -1) - (a.gapPerEdge ?? -1));
}

function compareCommand(): Command {
  return common(
    new Command('compare').description('all kinds with their default settings, best spectral gap per edge first'),
  ).action((options: Options) => {
    const parameters = parametersOf(options);
    const rows = compareAll(replicasOf({ kind: 'ring' }, options.n), seedOf(options));
    if (options.json)
      return console.log(
        JSON.stringify(
          rows.map(({ summary, ...row }) => ({ ...row, ...summary })),
          null,
          2,
        ),
      );
    const lines = rows.flatMap(({ kind, summary: s, gapPerEdge }) =>
      s === undefined
        ? []
        : [
            [
              kind,
              number(s.degree.mean, 3),
              number(s.edges, 4),
              s.diameter === null ? '–' : number(s.diameter),
              number(s.spectralGap, 4),
              number(gapPerEdge!, 3),
              s.mixingSteps === null ? 'never' : number(s.mixingSteps),
              s.periodSteps === null ? 'random' : s.periodSteps === 1 ? 'static' : number(s.periodSteps),
              yesNo(s.doublyStochastic),
              parameters === undefined
                ? `${number(s.floatsSentPerParameter.mean, 3)} P`
                : bytes(4 * s.floatsSentPerParameter.mean * parameters),
            ],
          ],
    );
    const headers = [
      'topology',
      'degree',
      'edges',
      'diameter',
      'gap',
      'gap/edge',
      'mixing',
      'period',
      'doubly st.',
      'sent',
    ];
    console.log(`All kinds at n = ${number(options.n!)}, best spectral gap per edge first\n`);
    console.log(table(headers, lines, [], { drop: ['doubly st.', 'diameter', 'edges', 'period'] }));
    console.log(
      `\n${wrap(
        `degree: neighbours per replica and step · gap: spectral gap, 1 − |λ2| per step · mixing: steps to shrink differences to 1 % · sent: by a replica per step${parameters === undefined ? ', P = parameters of the model' : ''}`,
        textWidth(),
      )}`,
    );
    for (const { kind, reason } of rows)
      if (reason !== undefined)
        console.log(
          wrap(`not for this n: ${reason.startsWith(kind) ? reason : `${kind}: ${reason}`}`, textWidth(), '  '),
        );
  });
}

export function command(): Command {
  const topology = new Command('topology').usage(
    '<kind> -n <replicas> [options]\n       dbench topology compare -n <replicas>',
  );
  topology.addCommand(compareCommand());
  for (const kind of kinds) topology.addCommand(kindCommand(kind));
  return topology.addHelpText('after', '\nOptions of a kind: dbench topology <kind> --help\n');
}
