import { Command } from 'commander';
import { UserError } from '../base/error.ts';
import { parse } from '../base/schema.ts';
import { override } from '../experiment/experiment.ts';
import { importSummary } from '../model/import/summary.ts';
import { modelSchema } from '../model/models.ts';
import type { OnnxSettings } from '../model/onnx.ts';
import { jsonOption, setOption } from './options.ts';
import { fields, number, table, textWidth, wrap } from './print.ts';

interface Options {
  readonly set: readonly string[];
  readonly json?: true;
}

type Summary = ReturnType<typeof importSummary>;

function report(path: string, summary: Summary): string {
  const { tensors, ops, unsupported, notes, problem } = summary;
  const lines = [
    table(
      ['tensor', 'shape', 'what it is'],
      tensors.map(({ name, shape, kind }) => [name, shape.join('×'), kind]),
      ['what it is'],
    ),
    '',
    path,
    fields([
      ['made by', `${summary.producer}, opset ${summary.opset}`],
      ['input', summary.input],
      ['output', summary.output],
      ['parameters', number(summary.parameters)],
      ['state', number(summary.state)],
      ['ops', ops.map(({ op, count }) => `${op} ${count}`).join(', ')],
    ]),
  ];
  for (const note of notes) lines.push('', wrap(note, textWidth()));
  if (unsupported.length > 0) {
    lines.push('', 'Not supported:');
    for (const { op, nodes, count } of unsupported)
      lines.push(
        wrap(`  ${op}: ${count} nodes, ${nodes.join(', ')}${count > nodes.length ? ', …' : ''}`, textWidth(), '  '),
      );
  } else if (problem !== undefined) lines.push('', wrap(`It cannot be trained as it is: ${problem}`, textWidth()));
  else lines.push('', wrap(`It can be trained: model: { kind: onnx, path: ${path} }`, textWidth()));
  return lines.join('\n');
}

/** What is in a file, what of it is not supported and where. */
export function importCommand(): Command {
  return new Command('import')
    .argument('<file.onnx>', 'as torch.onnx.export writes it')
    .description('what is in an ONNX file, and whether it can be trained')
    .addOption(setOption('a setting of the model, such as dataPath'))
    .addOption(jsonOption())
    .action((path: string, { set, json }: Options) => {
      const settings = parse(modelSchema, set.reduce<unknown>(override, { kind: 'onnx', path }), 'model');
      const summary = importSummary(settings as OnnxSettings);
      console.log(json ? JSON.stringify(summary, null, 2) : report(path, summary));
      if (summary.unsupported.length > 0 || summary.problem !== undefined)
        throw new UserError(`${path} cannot be trained as it is`);
    });
}
