// What the search of the site looks through: one entry for each section of a page.

/** One section. */
type Entry = { id: string; page: string; title: string; text: string }

const signs: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }

/** HTML as text. */
function textOf(html: string): string {
  return html
    .replaceAll(/<(pre|fieldset)\b.*?<\/\1>/gs, ' ')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/&(amp|lt|gt|quot);/g, (sign, name: string) => signs[name] ?? sign)
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function entriesOf(name: string, html: string): Entry[] {
  const slug = name === 'index.html' ? '../docs' : name.replace('.html', '')
  const content = /<main[^>]*>(.*)<\/main>/s.exec(html)?.[1] ?? ''
  const parts = [...content.matchAll(/<h([123]) id="([^"]+)">(.*?)<\/h\1>(.*?)(?=<h[123] id=|$)/gs)]
  const page = textOf(parts[0]?.[3] ?? '')
  return parts.map(([, level, anchor = '', title = '', body = '']) => ({
    id: level === '1' ? slug : `${slug}#${anchor}`,
    page,
    title: textOf(title),
    text: textOf(body),
  }))
}

/** The entries of pages as a JSON array, one in each line. */
export function searchLines(pages: readonly (readonly [name: string, html: string])[]): string {
  const entries = pages.flatMap(([name, html]) => entriesOf(name, html))
  return `[\n${entries.map((entry) => JSON.stringify(entry)).join(',\n')}\n]\n`
}
