// Builds the images in the mounts of this process alone and runs them.
import { once } from 'node:events'
import fs from 'node:fs'
import { eventually } from '../support/eventually.ts'
import { openContainer } from './container.ts'
import { openImages, type Places } from './images.ts'
import { paySample } from './sample-payment.ts'

const image = 'localhost/payweave'
const sandboxImage = 'localhost/payweave-sandbox'
const user = '65532:65532'
/** Of the sandbox: a machine that builds images has them free. */
const ports = { PORT: '18640', PORT_BASE: '18600' }

/** Runs in the image and says what it is allowed to do. */
const probe = `
  const fs = require('node:fs')
  const tryTo = (work) => { try { work(); return 'done' } catch (error) { return error.code } }
  const status = fs.readFileSync('/proc/self/status', 'utf8')
  console.log(JSON.stringify({
    uid: process.getuid(), gid: process.getgid(), node: process.version,
    capabilities: /^CapEff:\\s*(\\S+)/m.exec(status)[1], bounding: /^CapBnd:\\s*(\\S+)/m.exec(status)[1],
    app: tryTo(() => fs.writeFileSync('/app/core/x', '')), tmp: tryTo(() => fs.writeFileSync('/tmp/x', '')),
  }))`

const images = await openImages(JSON.parse(process.argv[2] ?? '') as Places)
say(images.version)
checkProduction()
await checkSandbox()

function checkProduction(): void {
  images.build('Dockerfile', image)
  say(images.summary(image))
  const { User, Entrypoint, Cmd } = images.configuration(image)
  const container = openContainer(images, image)
  check('the image runs as 65532', User === user)
  check('its command line runs', container.run([...Entrypoint, ...Cmd]).includes('payweave'))
  const seen = JSON.parse(container.run([...Entrypoint, '-e', probe])) as Record<string, unknown>
  check('its process is user 65532', seen['uid'] === 65_532 && seen['gid'] === 65_532)
  const none = '0'.repeat(16)
  check('it has no capability', seen['capabilities'] === none && seen['bounding'] === none)
  check('its root cannot be written', seen['app'] === 'EROFS')
  check('/tmp can be written', seen['tmp'] === 'done')
  check('it has our release of Node.js', seen['node'] === process.version)
}

/** Starts the whole system in one container and creates a payment. */
async function checkSandbox(): Promise<void> {
  images.build('Dockerfile.sandbox', sandboxImage, { PAYWEAVE_IMAGE: image })
  say(images.summary(sandboxImage))
  const { User, Entrypoint, Cmd } = images.configuration(sandboxImage)
  check('the sandbox runs as 65532', User === user)
  const container = openContainer(images, sandboxImage, ['data'])
  const system = container.start([...Entrypoint, ...Cmd], ports)
  const ended = once(system, 'exit')
  await eventually(
    () => statusOf(`http://127.0.0.1:${ports.PORT}/readyz`),
    (status) => check('the sandbox is ready', status === 200),
    120_000,
  )
  const sandbox = JSON.parse(fs.readFileSync(container.outside('data/sandbox.json'), 'utf8'))
  check('a payment in it is paid', (await paySample(sandbox)) === 'paid')
  system.kill('SIGTERM')
  const [code] = await ended
  check('a stop ends it with 0', code === 0)
}

/** The status of a response; 0 while nothing listens. */
function statusOf(url: string): Promise<number> {
  return fetch(url).then(
    ({ status }) => status,
    () => 0,
  )
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Throws unless it holds. */
function check(what: string, holds: boolean): void {
  if (!holds) throw new Error(`failed: ${what}`)
  say(`ok: ${what}`)
}
