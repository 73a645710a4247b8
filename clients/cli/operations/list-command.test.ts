// Shows what a list prints of the one item that was asked for.

import { create } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { WaitingRefundSchema } from '#gen/payweave/payments/v1/operations_pb.js'
import type { CommandContext } from '../command.ts'
import { listCommand } from './list-command.ts'

const [first, second] = [
  '01a1fc1d-3c7c-7a55-beb8-41051e057d91',
  '01a1fc1d-3c7c-7a55-beb8-41051e057d92',
]

/** What a list prints with these options, of a server that ignores the filter by id. */
async function printed(options: Record<string, string>): Promise<string[]> {
  const lines: string[] = []
  const command = listCommand({
    name: 'refund list',
    summary: '',
    part: 'payments',
    isOfProject: false,
    schema: WaitingRefundSchema,
    headings: ['REFUND'],
    cells: ({ refundId }) => [refundId],
    none: 'no refunds wait',
    idOf: ({ refundId }) => refundId,
    async read(_, { pageToken }) {
      const refundId = pageToken === '' ? first : second
      const items = [create(WaitingRefundSchema, { refundId })]
      return { items, nextPageToken: pageToken === '' ? 'next' : '' }
    },
  })
  const context: CommandContext = {
    options: { url: 'http://127.0.0.1:1', token: 'none', ...options },
    flags: new Set(),
    json: true,
    operands: [],
    env: {},
    stopping: new AbortController().signal,
    print: (line) => lines.push((JSON.parse(line) as { refund_id: string }).refund_id),
    write: () => undefined,
    warn: () => undefined,
    paint: (_, text) => text,
    progress: () => {
      throw new Error('a list shows no progress')
    },
  }
  await command.run(context)
  return lines
}

it('a list prints the item of an id alone, also when the server answers with others, page after page', async () => {
  expect(await printed({})).toEqual([first, second])
  expect(await printed({ id: second })).toEqual([second])
  expect(await printed({ id: second.toUpperCase() })).toEqual([second])
  expect(await printed({ id: '01a1fc1d-3c7c-7a55-beb8-41051e057d93' })).toEqual([])
})
