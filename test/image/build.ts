// Builds the images in the mounts of this process alone and runs them.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { forwardPorts } from '../../deploy/local/forward.ts'
import { consoleKey } from '../../deploy/local/secrets.ts'
import { signInLink } from '../../deploy/local/sign-in-key.ts'
import { newBrowser } from '../console/http-browser.ts'
import { eventually } from '../support/eventually.ts'
import { type Container, openContainer } from './container.ts'
import { openImages, type Places } from './images.ts'
import { openContainerNetwork } from './network.ts'
import { paySample, type Sandbox } from './sample-payment.ts'

const image = 'localhost/payweave'
const sandboxImage = 'localhost/payweave-sandbox'
const user = '65532:65532'
/** Of the sandbox: a machine that builds images has them free. */
const ports = { PORT: '18640', PORT_BASE: '18600' }
const consolePort = 18_622
/** Of a merchant's server on this machine. */
const receiverPort = 18_690

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
await checkPublished()

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
  await untilReady()
  check('a payment in it is paid', (await paySample(sandboxOf(container))) === 'paid')
  await stop(system)
}

/** The same as a container that publishes ports of a network of its own, and reaches a receiver on the machine around it. */
async function checkPublished(): Promise<void> {
  const network = openContainerNetwork()
  const container = openContainer(images, sandboxImage, ['data'])
  const { Entrypoint, Cmd } = images.configuration(sandboxImage)
  const pushes: string[] = []
  const receiver = http.createServer((request, answer) => {
    pushes.push(request.url ?? '')
    request.resume()
    answer.end()
  })
  receiver.listen(receiverPort, network.hostAddress)
  const env = { LISTEN_ADDRESS: '0.0.0.0', FORWARD_TO: `${network.hostAddress}:${receiverPort}` }
  const system = container.start([...Entrypoint, ...Cmd], { ...ports, ...env }, network.enter)
  // What an engine does for `-p 127.0.0.1:18640:18640`.
  const published = [Number(ports.PORT), consolePort].map((port) => ({
    host: network.address,
    port,
  }))
  const unpublish = await forwardPorts(published)
  await untilReady()
  const url = `http://127.0.0.1:${receiverPort}/push`
  const state = await paySample(sandboxOf(container), url)
  check('a payment by a published port is paid', state === 'paid')
  await eventually(
    () => pushes,
    () => check('its pushes reach a receiver of this machine', pushes.includes('/push')),
  )
  const link = signInLink(consolePort, consoleKey(container.outside('data')))
  const { status } = await newBrowser(`http://127.0.0.1:${consolePort}`).follow(
    new URL(link).pathname,
  )
  check('people sign in to the console at its published port', status === 200)
  const database = await connects(network.address, Number(ports.PORT_BASE) + 20)
  check('PostgreSQL is not reached from outside', !database)
  await unpublish()
  receiver.closeAllConnections()
  receiver.close()
  await stop(system)
}

async function untilReady(): Promise<void> {
  await eventually(
    () => statusOf(`http://127.0.0.1:${ports.PORT}/readyz`),
    (status) => check('the sandbox is ready', status === 200),
    120_000,
  )
}

function sandboxOf(container: Container): Sandbox {
  return JSON.parse(fs.readFileSync(container.outside('data/sandbox.json'), 'utf8')) as Sandbox
}

async function stop(system: ChildProcess): Promise<void> {
  const ended = once(system, 'exit')
  system.kill('SIGTERM')
  const [code] = await ended
  check('a stop ends it with 0', code === 0)
}

/** Whether a port takes a connection. */
function connects(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port }, () => {
      resolve(true)
      socket.destroy()
    })
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
    socket.setTimeout(2_000, () => socket.destroy())
  })
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
