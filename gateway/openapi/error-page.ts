// The page of /docs/errors: every error code with its HTTP status, its meaning and what the client does about it.

import { type PublicReason, publicReasons } from '#core/errors/errors.ts'
import { errorRemedies } from '#core/errors/remedies.ts'

/** The error codes in the order of the catalogue: by HTTP status, then as the table has them. */
function catalogue(): {
  code: PublicReason
  http: number[]
  meaning: string
  remedy: string
}[] {
  return (Object.keys(publicReasons) as PublicReason[])
    .map((code) => {
      const row = publicReasons[code]
      const http = 'httpOfSlowClient' in row ? [row.httpOfSlowClient, row.http] : [row.http]
      return { code, http, meaning: row.meaning, remedy: errorRemedies[code] }
    })
    .toSorted((one, other) => (one.http.at(-1) ?? 0) - (other.http.at(-1) ?? 0))
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (sign) => escapes[sign] ?? sign)
}

/** Text with `code` between backticks, as HTML. */
function inline(text: string): string {
  return escaped(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>')
}

/** The page; `doc_url` of an error leads to the code's section. Addresses are relative, so that it works behind a prefix. */
export function errorPage(): string {
  const sections = catalogue().map(
    ({ code, http, meaning, remedy }) => `<section id="${code}">
<h2><a href="#${code}">${code}</a> <small>HTTP ${http.join(' or ')}</small></h2>
<p>${inline(meaning)}</p>
<p><strong>What to do:</strong> ${inline(remedy)}</p>
</section>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Error codes – Payweave API</title>
<link rel="stylesheet" href="errors.css">
<link rel="icon" type="image/png" href="favicon-32x32.png">
</head>
<body>
<main>
<h1>Error codes</h1>
<p>An error has <code>errorCode</code> (errors of <code>/quote</code> have none), a <code>message</code> for people, <code>field</code>
where one is wrong, and <code>doc_url</code>, which leads here. <a href="../../docs">The API reference</a></p>
${sections.join('\n')}
</main>
</body>
</html>
`
}

/** Its style. */
export const errorPageStyle = `:root {
  color-scheme: light dark;
}
body {
  margin: 0;
  font-family: system-ui, sans-serif;
  line-height: 1.5;
}
main {
  max-width: 44rem;
  margin: 0 auto;
  padding: 1rem;
}
h2 {
  font-size: 1.1rem;
  margin: 2rem 0 0;
  overflow-wrap: anywhere;
}
h2 a {
  color: inherit;
  text-decoration: none;
}
h2 a:hover,
h2 a:focus-visible {
  text-decoration: underline;
}
small {
  font-weight: normal;
}
section p {
  margin: 0.25rem 0;
}
section:target {
  border-left: 0.25rem solid;
  padding-left: 0.75rem;
}
`

/** The catalogue as Markdown, for docs/errors.md. */
export function errorDocument(): string {
  const rows = catalogue().map(
    ({ code, http, meaning, remedy }) =>
      `| ${http.join(', ')} | \`${code}\` | ${meaning} | ${remedy} |`,
  )
  return `# Error codes

An error of the JSON API has \`errorCode\`, a \`message\` for people, \`field\` if a field is invalid, and \`doc_url\`, the address of its code on
\`/docs/errors\`. Errors of \`/quote\` have \`status\`, \`code\` and \`message\` alone. Generated from \`core/errors/errors.ts\` and \`core/errors/remedies.ts\` by
\`npx vitest run gateway -u\`.

| HTTP | \`errorCode\` | meaning | what to do |
|---|---|---|---|
${rows.join('\n')}
`
}
