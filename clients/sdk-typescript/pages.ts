// Lists that fetch their pages as they are read.

/** One page of a list. */
export type Page<T> = {
  items: T[]
  /** Leads to the next page; undefined on the last one. */
  nextCursor: string | undefined
}

/** A list of any length: `for await` reads every item, `page` one page. */
export class PageList<T> implements AsyncIterable<T> {
  readonly #fetchPage: (cursor: string | undefined) => Promise<Page<T>>

  constructor(fetchPage: (cursor: string | undefined) => Promise<Page<T>>) {
    this.#fetchPage = fetchPage
  }

  /**
   * Reads one page: the first, or the one at a cursor. A page may be empty although another follows. Rejects with a
   * PayweaveError, as every call does.
   */
  page(cursor?: string): Promise<Page<T>> {
    return this.#fetchPage(cursor)
  }

  /** Reads every item, page by page. Rejects with a PayweaveError at the page that fails. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let cursor: string | undefined
    do {
      const page: Page<T> = await this.page(cursor)
      yield* page.items
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }

  /** Reads the first `count` items, or all if there are fewer. Rejects with a PayweaveError. */
  async take(count: number): Promise<T[]> {
    const items: T[] = []
    if (count <= 0) return items
    for await (const item of this) {
      items.push(item)
      if (items.length >= count) break
    }
    return items
  }
}
