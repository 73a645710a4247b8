// Finds what a part of a document refers to.

/** The components of a document, by kind and name. */
export type Components = Record<string, Record<string, unknown>>

/** The components that a node refers to, directly or through others, for example `schemas/Payee`. */
export function referencesIn(node: unknown, components: Components): Set<string> {
  const found = new Set<string>()
  const visit = (part: unknown): void => {
    const text = JSON.stringify(part ?? {})
    for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g)) {
      if (found.has(`${kind}/${name}`)) continue
      found.add(`${kind}/${name}`)
      visit(components[kind]?.[name])
    }
  }
  visit(node)
  return found
}
