// Makes the report of a run for people: one HTML page without scripts or external resources.

import type { Result } from '../run.ts'
import { countsOf, type Report } from './report.ts'

const style = `
:root { color-scheme: light dark; --ok: #146c2e; --bad: #b3261e; --dim: #5c5c66; --line: #d0d0d8 }
@media (prefers-color-scheme: dark) {
  :root { --ok: #7ddb96; --bad: #ffb4ab; --dim: #b4b4be; --line: #44444c }
}
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
caption { text-align: left; color: var(--dim); padding-bottom: .3rem }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top }
td:last-child { text-align: right; white-space: nowrap }
code, pre { font-family: ui-monospace, monospace; font-size: .875rem; overflow-wrap: anywhere }
pre { white-space: pre-wrap; margin: .4rem 0 }
.passed { color: var(--ok) } .failed { color: var(--bad); font-weight: 600 } .skipped { color: var(--dim) }
`

/** The page. It is whole in itself and can be kept as a file. */
export function reportPage(report: Report): string {
  const { baseUrl, startedAt, durationMs, results } = report
  const counts = countsOf(results)
  const failed = results.filter(({ result }) => result === 'failed')
  const groups = Object.entries(Object.groupBy(results, ({ name }) => name.split('/')[0] ?? ''))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Conformance: ${counts.failed === 0 ? 'passed' : `${counts.failed} failed`}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Conformance of ${escaped(baseUrl)}</h1>
<p>${startedAt.toISOString()}, ${(durationMs / 1_000).toFixed(1)} s.
<span class="passed">${counts.passed} passed</span>,
<span class="failed">${counts.failed} failed</span>,
<span class="skipped">${counts.skipped} skipped</span>.</p>
${failed.length === 0 ? '' : `<h2>Failed</h2>\n${failed.map(failureOf).join('\n')}`}
${groups.map(([group, rows = []]) => tableOf(group, rows)).join('\n')}
</main>
</body>
</html>
`
}

function failureOf({ name, rule, reason = '', exchanges, lastAnswer }: Result): string {
  const calls = exchanges.map(
    ({ method, path, status, requestId }) => `${method} ${path} ${status} ${requestId}`,
  )
  return `<section>
<h3 class="failed">${escaped(name)}</h3>
<p>${escaped(rule)}</p>
<p><strong>${escaped(reason)}</strong></p>
<pre>${escaped([...calls, lastAnswer ?? ''].join('\n'))}</pre>
</section>`
}

function tableOf(group: string, rows: Result[]): string {
  return `<h2>${escaped(group)}</h2>
<table>
<caption>${rows.length} checks</caption>
<thead><tr><th scope="col">check</th><th scope="col">rule</th><th scope="col">result</th><th scope="col">time</th></tr></thead>
<tbody>
${rows.map(rowOf).join('\n')}
</tbody>
</table>`
}

function rowOf({ name, rule, result, reason = '', durationMs }: Result): string {
  const why = reason === '' ? '' : `: ${escaped(reason)}`
  return `<tr><th scope="row"><code>${escaped(name)}</code></th><td>${escaped(rule)}</td>\
<td class="${result}">${result}${why}</td><td>${durationMs} ms</td></tr>`
}

function escaped(text: string): string {
  const entities: Record<string, string> = {
    '&': 'amp',
    '<': 'lt',
    '>': 'gt',
    '"': 'quot',
    "'": '#39',
  }
  return text.replaceAll(/[&<>"']/g, (character) => `&${entities[character]};`)
}
