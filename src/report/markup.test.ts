import { describe, expect, it } from 'vitest';
import { html, script, scriptData } from './markup.ts';

describe('markup', () => {
  it('escapes values, and nothing twice', () => {
    const nasty = `<b title="x">&'</b>`;
    expect(html`<p title="${nasty}">${[html`<i>${nasty}</i>`, 1, null]}</p>`.text).toBe(
      '<p title="&lt;b title=&quot;x&quot;&gt;&amp;&#39;&lt;/b&gt;"><i>&lt;b title=&quot;x&quot;&gt;&amp;&#39;&lt;/b&gt;</i>1</p>',
    );
  });

  it('keeps data and programs inside their element', () => {
    const data = { text: '</script><!-- <script>' };
    expect(scriptData(data).text).not.toContain('<');
    expect(JSON.parse(scriptData(data).text)).toEqual(data);
    const program = script('const a = "</SCRIPT><!--<script>" + (1 < 2);').text;
    expect(program).not.toMatch(/<\/script|<!--|<script/i);
    expect(new Function(`${program}; return a;`)()).toBe('</SCRIPT><!--<script>true');
  });
});
