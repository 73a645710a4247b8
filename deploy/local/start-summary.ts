// What a finished start prints: the parts, where to look, and a request to paste with the demo project's keys.
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import type { ProcessTable } from './process/supervise.ts'
import type { SandboxFile } from './sandbox-file.ts'

/** The parts with their processes and ports, one line each. */
export function partsTable(processes: ProcessTable, order: string[]): string {
  const rows = order.flatMap((name) => {
    const row = processes[name]
    return row
      ? [[name, String(row.pid), row.ports.map((port) => `127.0.0.1:${port}`).join('  ')]]
      : []
  })
  const all = [['part', 'pid', 'serves at (last: health and metrics)'], ...rows]
  const widths = [0, 1].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`)
    .map((line) => line.trimEnd())
    .join('\n')
}

/** Where a new user looks first, one line each. */
export function addresses(
  { base_url }: Pick<SandboxFile, 'base_url'>,
  dataDir: string,
  consoleLink: string,
): string {
  const rows = [
    ['API', base_url],
    ['docs', `${base_url}/docs`],
    ['try it', `${base_url}/docs/try-it`],
    ['console', consoleLink],
    ['pay page', 'the "url" in the answer of the request below'],
    ['credentials', path.join(dataDir, 'sandbox.json')],
    ['logs', `${path.join(dataDir, 'logs')}, one file for each part`],
  ]
  return rows.map(([name = '', address = '']) => `  ${name.padEnd(11)}  ${address}`).join('\n')
}

/** How to see a payer's page in use: the payer of the example pays before anybody could. */
export const payByHand =
  'Its payer pays by themselves after a second. To pay yourself, say +12025550100 in place of +12025550101,\n' +
  'open the "url" of the answer in a browser and enter the wallet PIN 123456.'

/** A payment request of the demo project, whose payer pays after a second; pushes go to the simulator. */
export function curlExample(sandbox: SandboxFile): string {
  const { base_url, simulator_url, projects } = sandbox
  const { subscription_key, api_key } = projects.demo
  const tag = `order-${randomBytes(4).toString('hex')}`
  const receiver = `${simulator_url}/receivers/ok/${tag}`
  const body = {
    api_key,
    transaction_request: {
      id: tag,
      amount: '25.00',
      currency: 'USD',
      description: 'Two tickets',
      payers: [
        {
          mobile_number: '+12025550101',
          first_name: 'Kofi',
          last_name: 'Boateng',
          email: 'kofi@example.com',
          payment_channel: 'payment_link',
          payment_method: 'wallet',
          amount: '25.00',
        },
      ],
      urls: { notify: receiver, callback: receiver },
    },
  }
  return [
    `curl -sS '${base_url}/payments/request?version=2024-10-01' \\`,
    `  -H 'PW-subscription-key: ${subscription_key}' \\`,
    `  -H 'PW-origin-country: US' \\`,
    `  -H "PW-request-date: $(date -u '+%Y-%m-%d %H:%M:%S')" \\`,
    `  -H 'PW-ip-address: 127.0.0.1' \\`,
    `  -H 'User-Agent: payweave-first-steps/1.0' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body, null, 2)}'`,
  ].join('\n')
}
