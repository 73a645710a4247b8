// Runs the Postman collection from top to bottom against the shared system, with Newman, Postman's own runner.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectDocumented } from '../../support/openapi.ts'
import { sharedMesh } from '../harness.ts'

type Item = {
  name: string
  request: { body?: { formdata?: Array<{ type: string; src?: string }> } }
}
type Collection = { item: Array<{ name: string; item: Item[] }> }
type Environment = { values: Array<{ key: string; value: string }> }
type ScriptResult = { error?: { message: string } }
/** What Newman's JSON reporter says of one request. */
type Execution = {
  item: { name: string }
  request: { method: string; url: { path: string[] } }
  response?: {
    code: number
    header: Array<{ key: string; value: string }>
    stream: { data: number[] }
  }
  requestError?: { message: string }
  prerequestScript?: ScriptResult[]
  testScript?: ScriptResult[]
  assertions: Array<{ assertion: string } & ScriptResult>
}

const root = join(import.meta.dirname, '..', '..', '..')
const committed = async (file: string): Promise<unknown> =>
  JSON.parse(await readFile(join(root, 'docs', 'postman', file), 'utf8'))
const collection = (await committed('payweave.postman_collection.json')) as Collection
const environment = (await committed('local.postman_environment.json')) as Environment

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

let dir: string
let executions: Execution[]

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'newman-'))
  executions = await run()
})
afterAll(() => rm(dir, { recursive: true }))

async function run(): Promise<Execution[]> {
  const write = async (name: string, content: string) => {
    await writeFile(join(dir, name), content)
    return join(dir, name)
  }
  // A user chooses the file of an upload.
  const document = await write('document.pdf', '%PDF-1.4\n%%EOF\n')
  for (const { request } of collection.item.flatMap(({ item }) => item)) {
    for (const field of request.body?.formdata ?? [])
      if (field.type === 'file') field.src = document
  }
  for (const variable of environment.values) variable.value = filledIn[variable.key] ?? ''
  const report = join(dir, 'report.json')
  await promisify(execFile)(process.execPath, [
    '--no-deprecation',
    join(root, 'node_modules', 'newman', 'bin', 'newman.js'),
    'run',
    await write('collection.json', JSON.stringify(collection)),
    '--environment',
    await write('environment.json', JSON.stringify(environment)),
    '--reporters=json',
    `--reporter-json-export=${report}`,
    // What failed is in the report.
    '--suppress-exit-code',
  ])
  return JSON.parse(await readFile(report, 'utf8')).run.executions
}

describe.each(collection.item)('the Postman folder $name', ({ item }) => {
  it.each(item)('$name', ({ name }) => {
    const execution = executions.find((one) => one.item.name === name)
    if (execution?.response === undefined) {
      throw new Error(execution?.requestError?.message ?? 'Newman did not send it')
    }
    const { request, response, prerequestScript = [], testScript = [], assertions } = execution
    const text = Buffer.from(response.stream.data).toString()
    const errors = [...prerequestScript, ...testScript, ...assertions].flatMap(({ error }) =>
      error === undefined ? [] : [error.message],
    )
    expect(errors, text).toEqual([])
    expect(assertions.map(({ assertion }) => assertion)).toEqual(['has a documented status'])
    const headers = new Headers(response.header.map(({ key, value }) => [key, value]))
    const path = `/${request.url.path.join('/')}`
    expectDocumented({ method: request.method, path, status: response.code, headers, text })
  })
})
