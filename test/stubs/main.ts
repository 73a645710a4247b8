// Makes stubs of all contracts in Go and Java with the compilers of Debian, and reads payments with them: `npm run test:stubs`.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { createPayweaveClient } from '../../clients/grpc/index.ts'
import { createPayweave } from '../../clients/sdk-typescript/index.ts'
import { root as checkout } from '../docs/pages.ts'
import { debianSystem } from '../image/debian.ts'
import { type Mesh, startMesh } from '../support/mesh.ts'
import { type Program, programs } from './programs.ts'

const run = promisify(execFile)
/** Its programs do not depend on those of this machine. */
const compilers = {
  name: 'stubs-trixie-1',
  release: 'trixie',
  variant: 'minbase' as const,
  packages: [
    'protobuf-compiler',
    'libprotobuf-dev',
    'golang-go',
    'golang-google-grpc-dev',
    'protoc-gen-go',
    'protoc-gen-go-grpc',
    'openjdk-21-jdk-headless',
    'libgrpc-java',
    'libnetty-java',
    'libprotobuf-java',
    'protobuf-compiler-grpc-java-plugin',
  ],
}
const buildWithinMs = 900_000
const expected = ['PAYMENT_STATE_PENDING', 'PAYMENT_NOT_FOUND']

function note(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Runs lines of a shell in a folder of the Debian system; returns what they print. */
async function inSystem(system: string, folder: string, lines: string): Promise<string> {
  const enter = 'mount -t proc proc "$1/proc" && exec chroot "$1" sh -ec "$2"'
  const script = `cd '/${path.relative(system, folder)}'\n${lines}`
  const words = ['--mount', '--propagation=private', 'sh', '-ec', enter, 'sh', system, script]
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', LC_ALL: 'C.UTF-8' }
  return (await run('unshare', words, { env, timeout: buildWithinMs, maxBuffer: 2 ** 26 })).stdout
}

async function build(system: string, folder: string, program: Program): Promise<void> {
  const begunMs = performance.now()
  fs.cpSync(path.join(checkout, 'proto'), path.join(folder, 'proto'), { recursive: true })
  const foreign = 'node_modules/google-proto-files/google/rpc'
  fs.cpSync(path.join(checkout, foreign), path.join(folder, foreign), { recursive: true })
  fs.writeFileSync(path.join(folder, program.file.name), program.file.text)
  await inSystem(system, folder, program.build)
  note(
    `${program.language}: stubs made and compiled in ${((performance.now() - begunMs) / 1_000).toFixed(0)} s`,
  )
}

/** Arguments of a program: a payment that waits for its payer, and one that does not exist. */
async function argumentsOn({ sandbox }: Mesh): Promise<string[]> {
  const { base_url: baseUrl, grpc, grpc_token: token, projects } = sandbox
  const { subscription_key: subscriptionKey, api_key: apiKey } = projects.demo
  const team = createPayweaveClient({ address: grpc, token })
  const { project } = await team.access.authenticateSubscriptionKey({
    subscriptionKey,
    environment: Environment.SANDBOX,
  })
  team.close()
  const keys = { subscriptionKey, apiKey, originCountry: 'US', ipAddress: '127.0.0.1' }
  const { id } = await createPayweave({ baseUrl, ...keys }).payments.create({
    id: `stubs-${randomUUID()}`,
    amount: '25.00',
    currency: 'USD',
    payers: [
      { mobile_number: '+12025550108', payment_channel: 'payment_link', payment_method: 'wallet' },
    ],
  })
  return [new URL(grpc.payments).host, token, project?.projectId ?? '', id, randomUUID()]
}

async function main(): Promise<number> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    process.stderr.write('The compilers run as root on Linux.\n')
    return 2
  }
  const system = await debianSystem(compilers, note)
  const work = fs.mkdtempSync(path.join(system, 'tmp/stubs-'))
  const folderOf = ({ language }: Program) => path.join(work, language)
  try {
    for (const program of programs) await build(system, folderOf(program), program)
    const mesh = await startMesh({ name: 'stubs' })
    try {
      const words = (await argumentsOn(mesh)).map((word) => `'${word}'`).join(' ')
      for (const program of programs) {
        const printed = await inSystem(system, folderOf(program), `${program.run} ${words}`)
        const lines = printed.trim().split('\n')
        if (lines.join() !== expected.join()) {
          throw new Error(`${program.language} printed ${lines.join()}, not ${expected.join()}`)
        }
        note(`${program.language}: ${lines.join(', ')}`)
      }
    } finally {
      await mesh.remove()
    }
  } finally {
    fs.rmSync(work, { recursive: true, force: true })
  }
  return 0
}

process.exitCode = await main()
