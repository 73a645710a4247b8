// Prints lists: rows below headings for people, one JSON object per line for programs.
import type { CommandContext } from '../command.ts'
import { kindOfState } from './paint.ts'

/** Prints rows in columns as they come. */
export type Table = {
  /** Prints one row; before the first one the headings. */
  row(cells: readonly string[]): void
  /** Prints several rows, in columns that are wide enough for all of them. */
  rows(rows: readonly (readonly string[])[]): void
  /** How many rows were printed. */
  count(): number
}

/** Columns whose words have colours. */
const stateColumns = new Set(['STATE', 'STATUS', 'RESULT', 'BREAKER'])

/** Opens a table. Its columns are as wide as their headings, or as the spaces at the end of these make them. */
export function openTable(
  { print, paint }: Pick<CommandContext, 'print' | 'paint'>,
  headings: readonly string[],
): Table {
  const names = headings.map((heading) => heading.trimEnd())
  const widths = headings.map(({ length }) => length)
  let count = 0
  const write = (cells: readonly string[], kindOf: (cell: string, column: number) => Painted) => {
    const last = cells.findLastIndex((cell) => cell !== '')
    const padded = cells.slice(0, last + 1).map((cell, column) => {
      const gap =
        column === last ? '' : ' '.repeat(Math.max(0, (widths[column] ?? 0) - cell.length))
      return paint(kindOf(cell, column), cell) + gap
    })
    print(padded.join('  '))
  }
  const rows: Table['rows'] = (more) => {
    for (const cells of more) {
      for (const [column, cell] of cells.entries()) {
        widths[column] = Math.max(widths[column] ?? 0, cell.length)
      }
    }
    if (count === 0 && more.length > 0) write(names, () => 'heading')
    for (const cells of more) {
      write(cells, (cell, column) =>
        stateColumns.has(names[column] ?? '') ? kindOfState(cell) : undefined,
      )
    }
    count += more.length
  }
  return { row: (cells) => rows([cells]), rows, count: () => count }
}

type Painted = ReturnType<typeof kindOfState>

/** How the items of a list are printed. */
export type ListShape<T> = {
  headings: readonly string[]
  /** The cells of an item, one for each heading. */
  cells(item: T): readonly string[]
  /** An item as one line of JSON. */
  json(item: T): string
  /** What a person reads when there are no items, for example `no projects`. */
  none: string
}

/** Prints a list page by page as it is read. Rejects with what reading a page rejects with. */
export async function printList<T>(
  context: CommandContext,
  { headings, cells, json, none }: ListShape<T>,
  pages: AsyncIterable<T[]> | Iterable<T[]>,
): Promise<void> {
  const table = openTable(context, headings)
  for await (const page of pages) {
    if (context.json) for (const item of page) context.print(json(item))
    else table.rows(page.map(cells))
  }
  if (!context.json && table.count() === 0) context.print(none)
}

const maxPageSize = 200

/** Reads pages of a list until `limit` items were read or there are no more. Rejects as `page` does. */
export async function* pagesOf<T>(
  limit: number,
  page: (pageSize: number, pageToken: string) => Promise<{ items: T[]; nextPageToken: string }>,
): AsyncGenerator<T[]> {
  let left = limit
  let pageToken = ''
  do {
    const { items, nextPageToken } = await page(Math.min(left, maxPageSize), pageToken)
    yield items
    left -= items.length
    pageToken = nextPageToken
  } while (pageToken !== '' && left > 0)
}
