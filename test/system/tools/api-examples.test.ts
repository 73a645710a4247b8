// Runs every example of the API documents in a shell, as a reader would paste it, against the shared system.
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectDocumented } from '../../support/openapi.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { type Json, sharedMesh } from '../harness.ts'

type Operation = { 'x-codeSamples': Array<{ label: string; source: string }> }
type Document = { paths: Record<string, Record<string, Operation>> }

const mesh = sharedMesh()
const run = promisify(execFile)

/** The samples as the gateway itself serves them. */
async function readSamples(version: string) {
  const answer = await fetch(`${mesh.sandbox.base_url}/openapi.json?version=${version}`)
  const { paths } = (await answer.json()) as Document
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      operation['x-codeSamples'].map((sample) => ({
        method: method.toUpperCase(),
        path,
        ...sample,
      })),
    ),
  )
}

const versions = ['2024-10-01', '2026-07-01', '2026-12-01']
const samples = (await Promise.all(versions.map(readSamples))).flat()

let folder: string
beforeAll(() => {
  folder = temporaryFolder('examples')
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('the examples', () => {
  it('examples of calls exist for all 26 routes', () => {
    expect(new Set(samples.map(({ method, path }) => `${method} ${path}`)).size).toBe(26)
  })

  it.each(samples)(
    'the example of $method $path works: $label',
    async ({ method, path, source }) => {
      const script = `. '${mesh.dataDir}/sandbox.env'\n${source}`
      const { stdout } = await run('sh', ['-euc', script], { cwd: folder })
      const body = JSON.parse(stdout) as Json
      expect(body, stdout).toMatchObject({ status: 'success' })
      const status = Number(body['code'])
      const headers = new Headers({ 'pw-request-id': 'not shown by curl' })
      expectDocumented({ method, path, status, headers, text: stdout })
    },
  )
})
