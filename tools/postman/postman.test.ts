// Compares the Postman files with the routes and their committed copies; `-u` writes those anew.
import { describe, expect, it } from 'vitest'
import { routeRows } from '../../gateway/http/app.ts'
import { operations } from '../../gateway/openapi/document.ts'
import { postmanCollection, postmanEnvironment } from './postman.ts'

type Item = {
  name: string
  request: { method: string; header: Array<{ key: string }>; url: { raw: string; path: string[] } }
}
type Collection = { item: Array<{ item: Item[] }> }

const collection = postmanCollection(routeRows, operations)
const environment = postmanEnvironment() as { values: Array<{ key: string; value: string }> }
const items = (collection as Collection).item.flatMap(({ item }) => item)

/** Variables in double braces that no example, script or environment gives. */
function unknownVariables(): string[] {
  const text = JSON.stringify(collection)
  const set = [...text.matchAll(/ariables\.set\('(\w+)'/g)].map(([, name]) => name)
  const given = new Set([...set, ...environment.values.map(({ key }) => key), '$guid'])
  const used = new Set([...text.matchAll(/\{\{([^}]+)\}\}/g)].map(([, name]) => name ?? ''))
  return [...used].filter((name) => !given.has(name))
}

describe('the Postman collection', () => {
  it('the Postman collection has a request for every route', () => {
    const asked = new Set(
      items.map(({ request }) => `${request.method} /${request.url.path.join('/')}`),
    )
    expect([...asked].toSorted()).toEqual(
      routeRows.map(({ method, path }) => `${method} ${path}`).toSorted(),
    )
  })

  it('the Postman collection names each request once', () => {
    expect(new Set(items.map(({ name }) => name)).size).toBe(items.length)
  })

  it('the Postman collection uses no variable that nothing sets', () => {
    expect(unknownVariables()).toEqual([])
  })

  it('the Postman collection holds no key and no word of the shell', () => {
    const text = JSON.stringify([collection, environment])
    expect(text).not.toMatch(/pwk_|pws_|\$\(|\$[A-Z]/)
    const filled = environment.values.filter(({ value }) => value !== '').map(({ key }) => key)
    expect(filled).toEqual(['base_url', 'simulator_url'])
  })

  it.each([
    ['payweave.postman_collection.json', collection],
    ['local.postman_environment.json', environment],
  ])('the Postman collection is the committed one: %s', async (file, content) => {
    const text = `${JSON.stringify(content, null, 2)}\n`
    await expect(text).toMatchFileSnapshot(`../../docs/postman/${file}`)
  })
})
