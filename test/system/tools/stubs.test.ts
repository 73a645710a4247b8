// Proves that stubs which teams make from our contracts work: the examples of docs/grpc/stubs.md run as they stand there.
import { execFile, execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { type ServiceError, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, root } from '../../docs/pages.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { merchant, order, sharedMesh } from '../harness.ts'
import { internalTeam } from './grpc.ts'
import { findGrpcTools } from './grpc-tools.ts'

const mesh = sharedMesh()
const { grpc, grpc_token: token, projects } = mesh.sandbox
const tools = await findGrpcTools()
const folder = temporaryFolder('stubs')
const blocks = blocksOf('docs/grpc/stubs.md').filter(({ note }) => note.startsWith('run by'))
const address = new URL(grpc.payments).host
let projectId: string
let paymentId: string

beforeAll(async () => {
  for (const name of ['proto', 'node_modules']) {
    fs.symlinkSync(path.join(root, name), path.join(folder, name))
  }
  const team = internalTeam(mesh)
  projectId = await team.projectId(projects.demo.subscription_key)
  team.close()
  paymentId = (await merchant(mesh).create(order())).id
})
afterAll(() => fs.rmSync(folder, { recursive: true }))

function blockIn(language: string): string {
  const [block, ...more] = blocks.filter((one) => one.language === language)
  if (block === undefined || more.length > 0) throw new Error(`the page has no one ${language}`)
  return block.code
}

/** What `stubs.py` prints. */
type Seen = {
  modules: string[]
  payment: { paymentId: string; state: string }
  unknown: null
  [check: string]: unknown
}

/** Runs shell lines with protoc and Python in their PATH. */
function runLines(lines: string): void {
  execFileSync('sh', ['-ec', lines], { cwd: folder, env: tools.env })
}

/** Makes stubs as the page says, beside those of the contracts of gRPC and Google, and asks through them. */
function askInPython(): Seen {
  runLines(`${blockIn('sh')}\n${foreignStubs}`)
  const checks = fs.readFileSync(path.join(import.meta.dirname, 'stubs.py'), 'utf8')
  fs.writeFileSync(path.join(folder, 'program.py'), `${blockIn('python')}\n${checks}`)
  const stubs = path.join(folder, 'stubs')
  const mobileNumber = '+12025550188'
  const profile = {
    first_name: 'Ama',
    last_name: 'Mensah',
    email: 'ama@example.com',
    mobile_number: mobileNumber,
    mobile_number_as_sent: mobileNumber,
    institution_name: 'Demo Wallet',
    origin_country: 'US',
  }
  const ids = { project_id: projectId, payment_id: paymentId }
  const input = JSON.stringify({ grpc, token, stubs, profile, ...ids })
  const env = { ...tools.env, PYTHONPATH: `${stubs}:${tools.env?.['PYTHONPATH']}` }
  const answer = execFileSync('python3', ['program.py'], { cwd: folder, input, env })
  return JSON.parse(String(answer)) as Seen
}

/** Those that pip has packages for. */
const foreignStubs = `
make="protoc --python_out=stubs --grpc_python_out=stubs --plugin=protoc-gen-grpc_python=$(command -v grpc_python_plugin)"
$make -I node_modules/google-proto-files google/rpc/error_details.proto google/rpc/status.proto
$make -I node_modules/grpc-health-check/proto -I node_modules/@grpc/reflection/build/proto/grpc \
  health/v1/health.proto reflection/v1/reflection.proto
`

const passedOver = tools.missing === undefined ? '' : ` [passed over: ${tools.missing}]`

describe.skipIf(tools.env === undefined)(`a Python program with stubs${passedOver}`, () => {
  let seen: Seen
  beforeAll(() => {
    seen = askInPython()
  }, 120_000)

  it('a Python program with stubs imports every module of the contracts', () => {
    const contracts = fs.globSync('payweave/*/v1/*.proto', { cwd: path.join(root, 'proto') })
    const modules = contracts
      .map((file) => file.replace(/\.proto$/, '').replaceAll('/', '.'))
      .flatMap((name) => [`${name}_pb2`, `${name}_pb2_grpc`])
    expect(seen.modules).toEqual(modules.toSorted())
  })

  it('a Python program with stubs reads a payment, also by the old name of the method', () => {
    expect(seen.payment).toMatchObject({ paymentId, state: 'PAYMENT_STATE_PENDING' })
    expect(seen['old']).toBe(paymentId)
  })

  it('a Python program with stubs reads the reason and the fields of a refusal', () => {
    expect(seen.unknown).toBeNull()
    expect(seen['malformed']).toEqual({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_PARAMETER',
      fields: ['project_id', 'payment_id'],
    })
    expect(seen['stranger']).toMatchObject({ code: 'UNAUTHENTICATED', reason: 'UNAUTHENTICATED' })
  })

  it('a Python program with stubs is answered within its deadlines', () => {
    expect(seen['early']).toEqual({ code: 'DEADLINE_EXCEEDED', in_time: true })
    expect(seen['late_tail']).toBe('DEADLINE_EXCEEDED')
  })

  it('a Python program with stubs reads a stream, cancels it, and sends one', () => {
    expect(seen['tail']).toEqual({ first: 'heartbeat', ended: 'CANCELLED' })
    expect(seen['uploaded']).toBe('ACCOUNT_STATUS_PENDING_REVIEW')
  })

  it('a Python program with stubs asks for health and for the contracts', () => {
    const serving = ['SERVING', 'SERVING']
    expect(seen['health']).toEqual({ '': serving, 'payweave.payments.v1.PaymentsService': serving })
    expect(seen['reflection']).toEqual({
      'payweave.payments.v1.PaymentsService': expect.arrayContaining([
        'payweave/payments/v1/payments.proto',
        'buf/validate/validate.proto',
      ]),
      'google.rpc.ErrorInfo': expect.arrayContaining(['google/rpc/error_details.proto']),
    })
  })
})

it.skipIf(tools.env === undefined)(`protoc makes code for Java and C#${passedOver}`, () => {
  runLines(`mkdir other
    protoc -I proto -I proto/vendor/protovalidate --java_out=other --csharp_out=other --csharp_opt=base_namespace= \
      buf/validate/validate.proto $(find proto/payweave -name '*.proto')`)
  const made = fs.globSync('**/V1/*.cs', { cwd: path.join(folder, 'other') }).toSorted()
  expect(made.filter((file) => !file.startsWith('Payweave/'))).toEqual([])
  expect(made).toContain('Payweave/Payments/V1/ChargeReport.cs')
  expect(fs.existsSync(path.join(folder, 'other/payweave/payments/v1/Payments.java'))).toBe(true)
})

describe('a program of grpc-js without generated code', () => {
  type Get = (...words: string[]) => Promise<{ paymentId: string; state: string }>
  let getPayment: Get

  beforeAll(async () => {
    const program = path.join(folder, 'program.mjs')
    fs.writeFileSync(program, blockIn('js'))
    ;({ getPayment } = (await import(/* @vite-ignore */ program)) as { getPayment: Get })
  })

  it('a program of grpc-js without generated code reads a payment', async () => {
    const payment = await getPayment(address, token, projectId, paymentId)
    expect(payment).toMatchObject({ paymentId, state: 'PAYMENT_STATE_PENDING' })
  })

  it('a program of grpc-js without generated code gets the reason of a refusal', async () => {
    const unknown = getPayment(address, token, projectId, crypto.randomUUID())
    const error = (await unknown.catch((thrown: unknown) => thrown)) as ServiceError
    expect(error.code).toBe(status.NOT_FOUND)
    const [details] = error.metadata.get('grpc-status-details-bin')
    expect(String(details)).toContain('PAYMENT_NOT_FOUND')
  })
})

describe('buf curl', { concurrent: true }, () => {
  type Detail = { type: string; value: string }
  const run = promisify(execFile)
  const url = `${grpc.payments}/payweave.payments.v1.PaymentsService/GetPayment`
  const credential = `authorization: Bearer ${token}`
  const reflected = ['--reflect-header', credential]

  function call(protocol: string, target: string, id = paymentId) {
    const words = ['curl', '--protocol', protocol, '--http2-prior-knowledge', '-H', credential]
    const data = JSON.stringify({ project_id: projectId, payment_id: id })
    return run('buf', [...words, ...reflected, '-d', data, target], { cwd: folder })
  }

  const refusalBy = async (protocol: string): Promise<{ stderr?: string }> =>
    await call(protocol, url, crypto.randomUUID()).then(
      () => ({}),
      (error: { stderr?: string }) => error,
    )

  const protocols = ['grpc', 'grpcweb', 'connect']

  it.each(protocols)('buf curl reads a payment over %s', async (protocol) => {
    const { stdout } = await call(protocol, url)
    expect(JSON.parse(stdout)).toMatchObject({ payment: { paymentId } })
  })

  it.each(protocols)('buf curl shows the reason of a refusal over %s', async (protocol) => {
    const { stderr = '' } = await refusalBy(protocol)
    const { code, details } = JSON.parse(stderr) as { code: string; details: Detail[] }
    expect([code, details[0]?.type]).toEqual(['not_found', 'google.rpc.ErrorInfo'])
    const info = Buffer.from(details[0]?.value ?? '', 'base64')
    expect(info.toString()).toContain('PAYMENT_NOT_FOUND')
  })
})
