/** Has figures drawn anew at every width, so that text keeps its size. */
export function followWidth(redraw: () => void): void {
  let width = innerWidth;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  addEventListener('resize', () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 80);
  });
}
