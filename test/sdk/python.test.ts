// Runs the tests of the Python SDK, and installs its package into an empty environment without a network.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { serveHttp } from '../support/http-server.ts'
import { python } from '../support/python.ts'
import { temporaryFolder } from '../support/servers.ts'
import { passedOver } from '../support/system-program.ts'

const root = join(import.meta.dirname, '..', '..')
const source = join(root, 'clients', 'sdk-python')
const folder = temporaryFolder('sdk-python')
afterAll(() => rmSync(folder, { recursive: true }))

const program = `
import importlib.metadata, json, sys
from payweave import Payweave, PayweaveError

payweave = Payweave(
    base_url=sys.argv[1], subscription_key="k" * 32, api_key="a", origin_country="US", ip_address="127.0.0.1"
)
try:
    payweave.payments.status("one")
except PayweaveError as error:
    names = [one.metadata["Name"] for one in importlib.metadata.distributions()]
    print(json.dumps({"reason": error.reason, "fix": error.how_to_fix, "packages": names}))
`

/** Runs Python to its end; what it prints. */
function run(path: string, ...words: string[]): string {
  return execFileSync(path, words, { cwd: folder, encoding: 'utf8' })
}

describe.skipIf(python.missing !== undefined)(`the Python SDK${passedOver(python)}`, () => {
  const { path = '' } = python

  it('the Python SDK passes its tests', { timeout: 90_000 }, () => {
    const words = ['-W', 'error', '-m', 'unittest', 'test_payweave.py', 'test_connections.py']
    const env = { ...process.env, PYTHONPATH: source, PYTHONDONTWRITEBYTECODE: '1' }
    const options = { cwd: join(import.meta.dirname, 'python'), env, encoding: 'utf8' } as const
    const { status, stderr } = spawnSync(path, words, options)
    expect(stderr).toMatch(/^Ran 45 tests/m)
    expect(stderr).not.toContain('Warning')
    expect(status, stderr).toBe(0)
  })

  it('the package installs into an empty environment and works there', {
    timeout: 90_000,
  }, async () => {
    // A build writes beside its source.
    cpSync(source, join(folder, 'source'), { recursive: true })
    const build =
      'import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))'
    const built = spawnSync(path, ['-W', 'ignore', '-c', build, folder], {
      cwd: join(folder, 'source'),
      encoding: 'utf8',
    })
    const wheel = built.stdout.trim().split('\n').at(-1) ?? ''
    expect(wheel, built.stderr).toMatch(/^payweave-[\d.]+-py3-none-any\.whl$/)
    run(path, '-m', 'venv', 'shop')
    const own = join(folder, 'shop', 'bin', 'python')
    run(own, '-m', 'pip', 'install', '--quiet', '--no-index', wheel)
    writeFileSync(join(folder, 'program.py'), program)
    const server = await serveHttp((_, answer) => {
      answer.writeHead(404, { 'content-type': 'application/json' })
      answer.end('{"status":"error","code":404,"errorCode":"PAYMENT_NOT_FOUND","message":"no"}')
    })
    // The server answers in this process, so this one must not block it.
    const words = [join(folder, 'program.py'), server.baseUrl]
    const { stdout } = await promisify(execFile)(own, words)
    server.close()
    const { reason, fix, packages } = JSON.parse(stdout) as Record<string, unknown>
    expect([reason, fix]).toEqual(['PAYMENT_NOT_FOUND', expect.stringContaining('Check the id.')])
    expect((packages as string[]).filter((name) => !/^(pip|setuptools)$/.test(name))).toEqual([
      'payweave',
    ])
    const files = run(own, '-m', 'zipfile', '-l', wheel)
    expect(files).toContain('payweave/py.typed')
  })

  it('the package has the version that its requests name', () => {
    const [, version = ''] =
      /version = "(.+)"/.exec(readFileSync(join(source, 'pyproject.toml'), 'utf8')) ?? []
    expect(readFileSync(join(source, 'payweave', '_version.py'), 'utf8')).toContain(`"${version}"`)
  })
})
