// The client of the guides in PHP without a running system: what it does when a response is followed by none.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { php } from '../support/php.ts'
import { temporaryFolder } from '../support/servers.ts'
import { passedOver } from '../support/system-program.ts'
import { blocksOf } from './pages.ts'

const run = promisify(execFile)
const folder = temporaryFolder('guide-clients')
afterAll(() => fs.rmSync(folder, { recursive: true }))

const program = `<?php
require 'payweave.php';
try {
    payweave('POST', '/account/personal_account', '2024-10-01', []);
} catch (PayweaveError $error) {
    echo "$error->status $error->reason";
}
`

it.skipIf(php.missing !== undefined)(
  `the PHP client does not take the status of the response before for that of a call without one${passedOver(php)}`,
  async () => {
    let calls = 0
    const server = http.createServer((_request, response) => {
      calls += 1
      // From now on connections are refused.
      server.close()
      response.writeHead(429, { connection: 'close' }).end('{"errorCode":"RATE_LIMIT_EXCEEDED"}')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const demo = { api_key: 'key', subscription_key: 'key' }
    const sandbox = { base_url: `http://127.0.0.1:${port}`, projects: { demo } }
    const client = blocksOf('docs/guides/set-up.md').find(({ language }) => language === 'php')
    fs.mkdirSync(path.join(folder, '.payweave'))
    fs.writeFileSync(path.join(folder, '.payweave/sandbox.json'), JSON.stringify(sandbox))
    fs.writeFileSync(path.join(folder, 'payweave.php'), client?.code ?? '')
    fs.writeFileSync(path.join(folder, 'program.php'), program)
    const { stdout } = await run(php.path ?? '', ['program.php'], { cwd: folder })
    expect(stdout).toBe('0 NO_RESPONSE')
    expect(calls).toBe(1)
  },
)
