import type { GetEvent } from '../data/get/sources.ts';
import { bytes } from './print.ts';

export interface DownloadProgress {
  onEvent(event: GetEvent): void;
  /** Removes what is not to stay on the terminal. */
  end(): void;
}

const width = 28;
const share = (done: number, total: number) => Math.min(1, total === 0 ? 1 : done / total);
const clock = (seconds: number) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;

/** `train.txt  ━━━━━━━━━╌╌╌╌╌  63 %  6.8 MB of 10.8 MB  12.3 MB/s  0:05 left` */
export function bar(file: string, done: number, total: number | null, bytesPerSecond: number): string {
  const speed = bytesPerSecond > 0 ? `${bytes(bytesPerSecond)}/s` : '';
  if (total === null) return `${file}  ${bytes(done)}  ${speed}`.trimEnd();
  const filled = Math.round(width * share(done, total));
  const left = bytesPerSecond > 0 && done < total ? `${clock((total - done) / bytesPerSecond)} left` : '';
  const percent = `${Math.floor(100 * share(done, total))} %`.padStart(5);
  return [
    `${file}  ${'━'.repeat(filled)}${'╌'.repeat(width - filled)} ${percent}`,
    `${bytes(done)} of ${bytes(total)}`,
    speed,
    left,
  ]
    .filter((part) => part !== '')
    .join('  ');
}

/** On a terminal one line that is drawn over and over. */
function live(out: NodeJS.WriteStream): DownloadProgress {
  let [file, startBytes, startMs, drawnMs] = ['', 0, 0, 0];
  let waiting: NodeJS.Timeout | undefined;
  const draw = (line: string) => out.write(`\r\x1b[2K  ${line.slice(0, Math.max(20, (out.columns || 100) - 3))}`);
  const rest = () => {
    clearInterval(waiting);
    waiting = undefined;
  };
  /** For what tells nothing while it works: the seconds show that it does. */
  const wait = (text: string) => {
    rest();
    const since = Date.now();
    const tick = () => draw(`${text} … ${clock((Date.now() - since) / 1000)}`);
    tick();
    waiting = setInterval(tick, 1000);
  };
  return {
    onEvent(event) {
      if (event.kind === 'source') wait(`${event.source}${event.bytes === null ? '' : ` (${bytes(event.bytes)})`}`);
      if (event.kind === 'step') wait(event.text);
      if (event.kind === 'failed') {
        rest();
        out.write(`\r\x1b[2K  ${event.source}: ${event.why}\n`);
      }
      if (event.kind !== 'progress') return;
      rest();
      const now = Date.now();
      if (event.file !== file) [file, startBytes, startMs, drawnMs] = [event.file, event.doneBytes, now, 0];
      if (now - drawnMs < 100 && event.doneBytes !== event.totalBytes) return;
      drawnMs = now;
      const seconds = (now - startMs) / 1000;
      const speed = seconds > 0.2 ? (event.doneBytes - startBytes) / seconds : 0;
      draw(bar(file, event.doneBytes, event.totalBytes, speed));
    },
    end() {
      rest();
      out.write('\r\x1b[2K');
    },
  };
}

/** Elsewhere a line for each thing begun, and for each tenth of a large file. */
function plain(out: NodeJS.WriteStream): DownloadProgress {
  let [file, tenth] = ['', 0];
  return {
    onEvent(event) {
      if (event.kind === 'source')
        out.write(`  trying ${event.source}${event.bytes === null ? '' : ` (${bytes(event.bytes)})`}\n`);
      if (event.kind === 'step') out.write(`  ${event.text}\n`);
      if (event.kind === 'failed') out.write(`  ${event.source}: ${event.why}\n`);
      if (event.kind !== 'progress' || event.totalBytes === null) return;
      const now = Math.floor(10 * share(event.doneBytes, event.totalBytes));
      if (event.file === file && now === tenth) return;
      const told = event.totalBytes < 10_000_000 && now < 10;
      [file, tenth] = [event.file, now];
      if (!told) out.write(`  ${event.file}  ${10 * now} %  ${bytes(event.doneBytes)} of ${bytes(event.totalBytes)}\n`);
    },
    end() {},
  };
}

export const progressOn = (out: NodeJS.WriteStream): DownloadProgress => (out.isTTY ? live(out) : plain(out));
