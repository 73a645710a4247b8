// How statements over a batch find their rows.

/**
 * The condition that a column of a key equals a value of another row. A plain equality lets PostgreSQL read the whole index in its
 * order while the table is small, and the plan lives on when it has grown; this one is looked up in the index for each value.
 */
export function byKey(column: string, value: string): string {
  return `${column} = any(array[${value}])`
}
