// Reads a PDF as its readers do: text, structure, metadata.
import { getDocumentProxy } from 'unpdf'

/** What a reader finds in a PDF. */
export type ReadPdf = {
  title: unknown
  language: unknown
  isTagged: boolean
  /** Roles of its structure, such as "H1", each as often as it occurs. */
  roles: string[]
  /** Its letters in the order of reading, without blanks, which depend on the reader. */
  letters: string
  pages: number
  /** The lowest baseline, in points above the end of its page. */
  lowest: number
}

type Node = { role?: string; children?: unknown[] }

/** Reads a PDF. */
export async function readPdf(bytes: Uint8Array): Promise<ReadPdf> {
  const document = await getDocumentProxy(new Uint8Array(bytes))
  const info = (await document.getMetadata()).info as Record<string, unknown>
  const mark = (await document.getMarkInfo()) as { Marked?: boolean } | null
  const pages = await Promise.all(
    Array.from({ length: document.numPages }, (_, at) => document.getPage(at + 1)),
  )
  const contents = await Promise.all(pages.map((page) => page.getTextContent()))
  const trees = await Promise.all(pages.map((page) => page.getStructTree()))
  const items = contents.flatMap(({ items: all }) =>
    all.flatMap((one) => ('str' in one ? [one] : [])),
  )
  await document.loadingTask.destroy()
  return {
    title: info['Title'],
    language: info['Language'],
    isTagged: mark?.Marked === true,
    roles: trees.flatMap((tree) => rolesOf(tree as Node)),
    letters: items
      .map(({ str }) => str)
      .join('')
      .replaceAll(/\s/g, '')
      .normalize('NFKC'),
    pages: pages.length,
    lowest: Math.min(...items.map(({ transform }) => Number(transform[5]))),
  }
}

function rolesOf({ role, children = [] }: Node): string[] {
  return [...(role === undefined ? [] : [role]), ...children.flatMap((one) => rolesOf(one as Node))]
}
