const said = new WeakMap<HTMLElement, string>();

/** Makes the content of a place anew if what it says has changed; otherwise it stays as it is, with its focus and what is unfolded. */
export function renew(place: HTMLElement, text: string, content: () => readonly (Node | string)[]): void {
  if (said.get(place) === text) return;
  const focused = place.contains(document.activeElement) ? document.activeElement!.textContent : undefined;
  said.set(place, text);
  place.replaceChildren(...content());
  // A button that is still there keeps the focus.
  for (const each of focused === undefined ? [] : place.querySelectorAll<HTMLElement>('a,button'))
    if (each.textContent === focused) each.focus();
}
