// Runs the Postman collection from top to bottom against the shared system, as Postman's own runner would.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { expectDocumented } from '../../support/openapi.ts'
import { sharedMesh } from '../harness.ts'

type Pair = { key: string; value: string }
type Field = { key: string } & ({ type: 'text'; value: string } | { type: 'file' })
type Body = { mode: 'raw'; raw: string } | { mode: 'formdata'; formdata: Field[] }
type Event = { listen: 'prerequest' | 'test'; script: { exec: string[] } }
type Item = {
  name: string
  event: Event[]
  request: {
    method: string
    header: Pair[]
    url: { path: string[]; query: Pair[] }
    body?: Body
  }
}
type Collection = { item: Array<{ name: string; item: Item[] }>; event: Event[] }

const folder = join(import.meta.dirname, '..', '..', '..', 'docs', 'postman')
const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), 'utf8'))
const collection = read('payweave.postman_collection.json') as Collection
const environment = read('local.postman_environment.json') as { values: Pair[] }

const { sandbox } = sharedMesh()
const { demo } = sandbox.projects
const { key_id, shared_key } = sandbox.institutions['Demo Wallet']
/** What a user fills in. */
const filledIn: Record<string, string> = {
  base_url: sandbox.base_url,
  simulator_url: sandbox.simulator_url,
  subscription_key: demo.subscription_key,
  api_key: demo.api_key,
  institution_key_id: key_id,
  institution_shared_key: shared_key,
}
const variables = new Map(environment.values.map(({ key }) => [key, filledIn[key] ?? '']))

function filled(text: string): string {
  return text.replaceAll(/\{\{([^}]+)\}\}/g, (_, name: string) => {
    if (name === '$guid') return crypto.randomUUID()
    const value = variables.get(name)
    if (value === undefined) throw new Error(`nothing has set ${name}`)
    return value
  })
}

/** The part of Postman's `pm` that the scripts use. */
async function runScripts(events: Event[], listen: Event['listen'], code = 0, text = '') {
  const scope = {
    get: (name: string) => variables.get(name),
    set: (name: string, value: string) => void variables.set(name, value),
  }
  const pm = {
    variables: scope,
    collectionVariables: scope,
    response: { code, text: () => text },
    test: (_: string, check: () => void) => check(),
    expect: (value: unknown) => ({
      to: { be: { oneOf: (list: unknown[]) => expect(list, text).toContain(value) } },
    }),
  }
  const context = createContext({ pm, crypto, atob, btoa, TextEncoder, Uint8Array })
  for (const { script } of events.filter((event) => event.listen === listen)) {
    await runInContext(`(async () => {\n${script.exec.join('\n')}\n})()`, context)
  }
}

function bodyOf(body: Body | undefined): RequestInit {
  if (body === undefined) return {}
  if (body.mode === 'raw') return { body: filled(body.raw) }
  const form = new FormData()
  for (const field of body.formdata) {
    // A user chooses the file.
    const value =
      field.type === 'file' ? new File(['%PDF-1.4\n%%EOF\n'], 'a.pdf') : filled(field.value)
    form.append(field.key, value)
  }
  return { body: form }
}

async function send({ event, request }: Item): Promise<void> {
  await runScripts([...collection.event, ...event], 'prerequest')
  const { method, header, url, body } = request
  const query = url.query.map(({ key, value }): [string, string] => [key, filled(value)])
  const path = `/${url.path.join('/')}`
  const answer = await fetch(`${sandbox.base_url}${path}?${String(new URLSearchParams(query))}`, {
    method,
    headers: header.map(({ key, value }): [string, string] => [key, filled(value)]),
    ...bodyOf(body),
  })
  const text = await answer.text()
  await runScripts(event, 'test', answer.status, text)
  expectDocumented({ method, path, status: answer.status, headers: answer.headers, text })
}

describe.each(collection.item)('the Postman folder $name', ({ item }) => {
  it.each(item)('$name', async (one) => {
    await expect(send(one)).resolves.toBeUndefined()
  })
})
