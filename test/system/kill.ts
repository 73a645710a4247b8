// The kill test for as long as wanted: `npm run test:kill -- --minutes N`. It does nothing else.
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } })
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new Error('--minutes wants a number above zero')

const config = ['--config', 'test/system/vitest.config.ts']
const child = spawn('vitest', ['run', ...config, 'test/system/kill.test.ts'], {
  env: { ...process.env, KILL_TEST_S: String(minutes * 60), PAYWEAVE_TEST_MESH: 'none' },
  stdio: 'inherit',
})
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
