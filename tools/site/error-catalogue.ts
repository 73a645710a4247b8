// The catalogue of error codes: each with its HTTP status, its meaning and what the client does about it, as Markdown.
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

/** The catalogue as a page with a section for each code, to which its `doc_url` leads. */
export function errorSections(): string {
  const sections = catalogue().map(
    ({ code, http, meaning, remedy }) =>
      `## ${code}\n\nHTTP ${http.join(' or ')}. ${meaning}\n\n**What to do:** ${remedy}\n`,
  )
  return `# Error codes

An error has \`errorCode\` (errors of \`/quote\` have none), a \`message\` for people, \`field\` if a field is invalid, and \`doc_url\`, which leads to
its section on this page. [Handle errors](guides/errors.md) shows what a program does about them.

${sections.join('\n')}`
}

/** The catalogue as a table, for docs/integrate/errors.md. */
export function errorDocument(): string {
  const rows = catalogue().map(
    ({ code, http, meaning, remedy }) =>
      `| ${http.join(', ')} | \`${code}\` | ${meaning} | ${remedy} |`,
  )
  return `# Error codes

An error of the JSON API has \`errorCode\`, a \`message\` for people, \`field\` if a field is invalid, and \`doc_url\`, the address of its code on
\`/docs/errors\`. Errors of \`/quote\` have \`status\`, \`code\` and \`message\` alone. Generated from \`core/errors/errors.ts\` and \`core/errors/remedies.ts\` by
\`npm run schemas\`.

| HTTP | \`errorCode\` | meaning | what to do |
|---|---|---|---|
${rows.join('\n')}
`
}
