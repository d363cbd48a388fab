import type { SvgElement } from '../figure/compose.ts';
import type { Figure } from '../figure/figure.ts';
import { standalone } from '../figure/standalone.ts';

function download(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function toPng(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [2 * image.naturalWidth, 2 * image.naturalHeight];
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob === null ? reject(new Error('no PNG')) : resolve(blob)), 'image/png'),
  );
}

/** The figure as a file, as `dbench report --figures` writes it, with what is chosen. */
export async function save(drawing: SvgElement, figure: Figure, subtitle: string, kind: 'svg' | 'png'): Promise<void> {
  const svg = standalone(drawing, figure, subtitle, document);
  const blob = kind === 'svg' ? new Blob([svg], { type: 'image/svg+xml' }) : await toPng(svg);
  download(blob, `${figure.id}.${kind}`);
}
