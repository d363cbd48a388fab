/** Makes the content of a place anew if what it says has changed; otherwise it stays as it is, with its focus and what is unfolded. */
export function renew(place: HTMLElement, text: string, content: () => readonly (Node | string)[]): void {
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  place.replaceChildren(...content());
}
