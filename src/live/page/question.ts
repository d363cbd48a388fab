import { make } from '../../report/page/controls.ts';

/** Asks; escape is a no. */
export function confirmed(title: string, text: string, yes: string, details = ''): Promise<boolean> {
  const dialog = document.querySelector<HTMLDialogElement>('#question')!;
  const [no, go] = [
    make('button', { type: 'button' }, 'Cancel'),
    make('button', { type: 'button', className: 'danger' }, yes),
  ];
  dialog.replaceChildren(
    make('h3', {}, title),
    make('p', {}, text),
    ...(details === '' ? [] : [make('pre', {}, details)]),
    make('div', { className: 'tools' }, no, go),
  );
  return new Promise((done) => {
    const close = (sure: boolean) => {
      dialog.close();
      done(sure);
    };
    no.onclick = () => close(false);
    go.onclick = () => close(true);
    dialog.oncancel = () => done(false);
    dialog.showModal();
    no.focus();
  });
}

/** Says what the server refused. */
export function refused(error: unknown): void {
  const dialog = document.querySelector<HTMLDialogElement>('#question')!;
  const close = make('button', { type: 'button' }, 'Close');
  close.onclick = () => dialog.close();
  dialog.replaceChildren(
    make('h3', {}, 'This did not work'),
    make('pre', {}, error instanceof Error ? error.message : String(error)),
    close,
  );
  if (!dialog.open) dialog.showModal();
}
