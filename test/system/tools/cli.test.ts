// Shows the command line against the running system: projects by name, pushes of a payment. It must not know a route.
import { execFile } from 'node:child_process'
import path from 'node:path'
import { expect, it } from 'vitest'
import { sharedMesh } from '../harness.ts'

const mesh = sharedMesh()
const root = path.resolve(import.meta.dirname, '../../..')

function payweave(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['clients/cli/payweave.mjs', ...words, '--data-dir', mesh.dataDir],
      { cwd: root },
      (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }),
    )
  })
}

it.each(['demo', 'other'])('the command line knows project %s by its name', async (project) => {
  const list = await payweave('deliveries', 'list', '--project', project, '--json', '--limit', '3')
  expect(list).toMatchObject({ code: 0, err: '' })
  for (const line of list.out.split('\n').filter((text) => text !== '')) {
    expect(JSON.parse(line)).toHaveProperty('delivery_id')
  }
})

it('the command line asks for demo when no project is named', async () => {
  expect((await payweave('deliveries', 'list')).code).toBe(0)
  expect((await payweave('deliveries', 'list', '--project', 'nobody')).code).toBe(2)
})
