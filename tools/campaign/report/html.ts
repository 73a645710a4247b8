// Pieces of HTML that reports share.

/** Text for HTML. */
export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** A table; cells are HTML. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = heads.map((text) => `<th scope="col">${escaped(text)}</th>`).join('')
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>\n${body.join('\n')}\n</tbody></table></div>`
}

const style = `
:root { color-scheme: light dark; --ok: #146c2e; --bad: #b3261e; --dim: #5c5c66; --line: #d0d0d8; --slow: #b26a00 }
@media (prefers-color-scheme: dark) {
  :root { --ok: #7ddb96; --bad: #ffb4ab; --dim: #b4b4be; --line: #44444c; --slow: #ffc46b }
}
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .875rem }
.passed { color: var(--ok) } .failed { color: var(--bad); font-weight: 600 }
svg text { font: 11px system-ui, sans-serif; fill: var(--dim) }
svg .fault { fill: var(--bad) } svg .recovery { fill: var(--slow) } svg .minute { stroke: var(--line) }
svg .answers, svg .pushes { fill: var(--ok) } svg .failures { fill: var(--bad) }
`

/** A page that is whole in itself and can be kept as a file: no scripts, no external resources. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
}
