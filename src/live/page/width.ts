const known = new WeakMap<Element, number>();
const watch = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) known.set(target, contentRect.width);
});

/** How wide a place for a drawing is: to ask the browser each time would make it lay out the page before it is complete. */
export function widthOf(place: HTMLElement, least = 280): number {
  if (!known.has(place)) watch.observe(place);
  // What is hidden has no width yet.
  const width = known.get(place) || place.clientWidth;
  known.set(place, width);
  return Math.max(least, Math.floor(width));
}
